"""The walk of CONTRIBUTING.md, taken at its word: a connector that reads a TCP socket."""

import re
import socket
import sys
from pathlib import Path
from types import ModuleType

import pytest
from tests.steps.tables import NO_DEFAULTS, declared

from penstock.errors import DataError
from penstock.sources import api
from penstock.steps.rows.batch import RowReader
from penstock.steps.rows.rejected import Rejections

WALK = Path(__file__).resolve().parents[2] / "CONTRIBUTING.md"


@pytest.fixture
def connector(monkeypatch):
    text = WALK.read_text(encoding="utf-8").partition("### A source that reads a TCP socket")[2]
    (code,) = re.findall(r"```python\n(.*?)```", text.partition("\n### ")[0], re.DOTALL)
    module = ModuleType("walked_socket")
    exec(code, module.__dict__)  # noqa: S102 - that is the test
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setitem(api.CONNECTORS, "socket", module.__name__)


def received(source, count):
    """The values of so many rows, and how many more were rejected until they had come."""
    values, rejected = [], 0
    while len(values) < count:
        rejections = Rejections(tolerant=True)
        batch = source.read(100, rejections)
        values += [] if batch is None else batch.rows.column(0).to_pylist()
        rejected += len(rejections.rows)
    return values, rejected


def test_a_socket_is_a_source(connector):
    with socket.create_server(("localhost", 0)) as server:
        port = server.getsockname()[1]
        table = declared(f"CREATE TABLE t (a INT) WITH ('connector' = 'socket', 'port' = '{port}')")
        source = api.open_source(table, lambda table, lenient: RowReader(table, NO_DEFAULTS, lenient=lenient), None)
        peer, _ = server.accept()
        with peer:
            assert source.read(10, Rejections()) is None
            peer.sendall(b'{"a": 1}\n{"a": 2')
            assert received(source, 1) == ([1], 0)
            taken = source.taken()
            assert (taken["connector"], taken["read"][0]["to"]) == ("socket", {"offset": 9, "lines": 1})
            source.rewind()
            peer.sendall(b'3}\n{"a": }\n{"a": 4}\n{"a": 5')
            assert received(source, 3) == ([1, 23, 4], 1)
            source.commit()
            with pytest.raises(DataError, match="cannot be read again"):
                source.seek(taken)
            peer.sendall(b"6}")
        assert received(source, 1) == ([56], 0)
