"""A password that somebody has written into a program is in no message, and in no line that a message shows."""

import pytest
from click.testing import CliRunner

from penstock.cli.main import main
from penstock.errors import DataError, Diagnostic, Span
from penstock.passwords import concealed

WORD = "S3cret+Word"
STARS = "*" * len(WORD)


@pytest.mark.parametrize(
    "text",
    [
        "'connection' = 'postgresql://shop:{}@db:5432/shop'",
        "postgresql://shop:{}@db/shop does not answer",
        "'url' = 'mysql+pymysql://:{}@db/shop'",
        "'connection' = 'host=db password={} user=shop'",
        "'connection' = 'host=db password = ''{}'' user=shop'",
        "'url' = 'jdbc:postgresql://db/shop?user=u&password={}&ssl=true'",
        "'password' = '{}', 'table' = 't'",
        "'pasword'='{}'",
        "'properties.sasl.password' = '{}'",
        "'header.Authorization' = 'Bearer{}'",
        "'token' = '{}'",
        "'catalog.credential' = 'me:{}'",
        "'catalog.s3.secret-access-key' = '{}'",
        "OPTIONS (user 'u', password '{}')",
        "'schema.registry.basic-auth.user-info' = 'u:{}'",
    ],
)
def test_it_is_concealed_wherever_one_stands(text):
    found = concealed(text.format(WORD))
    assert WORD not in found
    assert len(found) == len(text.format(WORD))
    assert STARS in found


@pytest.mark.parametrize(
    "text",
    [
        "SELECT id FROM users WHERE password = word",
        "'password' = '${env:SHOP_PASSWORD}'",
        "'connection' = 'postgresql://shop:${env:SHOP_PASSWORD}@db/shop'",
        "'url' = 'http://127.0.0.1:8080/orders?after={id}'",
        "'bootstrap.servers' = 'one:9092,two:9092'",
        "table t: 'properties.sasl.password': the environment has no variable 'NOT_THERE'",
        "table t, in/1.json:7, column id: found 'a@b.c' (str), expected INT",
    ],
)
def test_all_else_is_shown(text):
    assert concealed(text) == text


def test_a_reference_beside_letters_is_shown_and_they_are_not():
    assert concealed("'token' = 'ab${env:T}c'") == "'token' = '**${env:T}*'"


def test_an_error_has_it_neither_in_its_text_nor_in_its_values():
    error = DataError(Diagnostic("X", f"'a://u:{WORD}@h' is wrong", Span(0, 1), hint=f"not 'a://u:{WORD}@h'"))
    shown = error.with_source(f"'password' = '{WORD}'").render()
    assert WORD not in f"{error} {error.diagnostics[0].to_json()} {shown}"
    assert shown.count(STARS) == 3


@pytest.mark.parametrize(
    "properties",
    [
        "'connector' = 'postgres', 'connection' 'postgresql://shop:{}@db/shop'",
        "'connector' = 'postgres', 'connection' = 'postgresql://shop:{}@db/shop', 'on_truncate' = 'what'",
        "'connector' = 'postgres', 'connection' = 'host=db', 'pasword' = '{}'",
        "'connector' = 'sql', 'url' = 'what://shop:{}@db/shop', 'table' = 't', 'column' = 'id'",
        "'connector' = 'http', 'url' = 'ftp://shop:{}@db/shop'",
    ],
)
def test_a_refused_program_does_not_show_it(properties):
    text = f"CREATE TABLE t (id INT) WITH ({properties.format(WORD)});"
    found = CliRunner().invoke(main, ["check", "-e", text])
    assert found.exit_code == 1
    assert WORD not in found.output
    assert STARS in found.output
