"""Random aggregate calls of every family, with DISTINCT and FILTER."""

from __future__ import annotations

from penstock.testing.fuzz.dice import Dice
from penstock.testing.fuzz.expressions import Scope, expression, filled, predicate
from penstock.testing.fuzz.tables import ARRAY, BIGINT, BOOLEAN, DECIMAL, DOUBLE, INT, NESTED, STRING

# None of them can raise an error; `corr` can, in a group where one side is constant.
# (shape, type of the answer, whether DISTINCT may stand before the first argument)
LINEAR = (
    ("count(*)", BIGINT, False),
    ("sum({int})", BIGINT, True),
    ("count({string})", BIGINT, True),
    ("avg({int})", DOUBLE, True),
    ("sum({double})", DOUBLE, False),
    ("avg({double})", DOUBLE, False),
    ("sum({decimal})", DECIMAL, True),
    ("avg({decimal})", DECIMAL, True),
    ("count({int}, {string})", BIGINT, True),
    ("count_if({boolean})", BIGINT, False),
    ("stddev({int})", DOUBLE, True),
    ("var_pop({int})", DOUBLE, False),
    ("covar_samp({int}, {int})", DOUBLE, False),
    ("regr_slope({int}, {int})", DOUBLE, False),
    ("regr_count({int}, {int})", BIGINT, False),
    ("skewness({int})", DOUBLE, False),
    ("try_sum({bigint})", BIGINT, True),
    ("kurtosis({int})", DOUBLE, False),
    ("try_avg({int})", DOUBLE, True),
    ("regr_r2({int}, {int})", DOUBLE, False),
    ("regr_intercept({int}, {bigint})", DOUBLE, False),
)
_MOMENTS = ("stddev", "var_", "covar_", "regr_", "skewness", "kurtosis", "avg(", "try_avg")
KEYED = (
    ("max({int})", INT, True),
    ("min({string})", STRING, False),
    ("max({double})", DOUBLE, False),
    ("min({decimal})", DECIMAL, False),
    ("bool_and({boolean})", BOOLEAN, False),
    ("some({boolean})", BOOLEAN, False),
    ("bit_xor({int})", INT, True),
    ("bit_or({bigint})", BIGINT, False),
    ("sort_array(collect_set({int}))", ARRAY, False),
    ("collect_list({int})", ARRAY, False),
    ("array_agg({int})", ARRAY, False),
    ("max_by({string}, {int})", STRING, False),
    ("min_by({int}, {string})", INT, False),
    ("min_by({string}, {int})", STRING, False),
    ("max_by({int}, {double})", INT, False),
    ("min_by({int}, {date})", INT, False),
    ("first({int})", INT, False),
    ("last({string})", STRING, False),
    ("any_value({int}) IGNORE NULLS", INT, False),
    ("first({string}, TRUE)", STRING, False),
    ("listagg({string}, ',')", STRING, True),
    ("listagg({string}, '-') WITHIN GROUP (ORDER BY {string} DESC)", STRING, False),
    ("mode({int})", INT, False),
    ("mode() WITHIN GROUP (ORDER BY {string})", STRING, False),
    ("max({struct}).q", STRING, False),
    ("every({boolean})", BOOLEAN, False),
    ("bit_and({int})", INT, False),
    ("hll_sketch_estimate(hll_sketch_agg({int}))", BIGINT, False),
    ("median({int})", DOUBLE, False),
    ("percentile({int}, 0.25)", DOUBLE, False),
    ("percentile_cont(0.5) WITHIN GROUP (ORDER BY {int})", DOUBLE, False),
    ("percentile_disc(0.5) WITHIN GROUP (ORDER BY {int} DESC)", DOUBLE, False),
    ("approx_count_distinct({int})", BIGINT, False),
    ("approx_percentile({int}, 0.5)", INT, False),
    ("size(collect_list({string}))", INT, True),
    ("max(struct({int}, {string})).col1", INT, False),
)
SHARED = (
    ("count(*)", BIGINT, False),
    ("sum({int})", BIGINT, True),
    ("count({string})", BIGINT, True),
    ("avg({int})", DOUBLE, True),
    ("max({int})", INT, False),
    ("min({string})", STRING, False),
    ("sum({double})", DOUBLE, False),
    ("bool_and({boolean})", BOOLEAN, False),
    ("var_pop({int})", DOUBLE, False),
)


def aggregate(dice: Dice, scope: Scope, *, plain: bool = False) -> tuple[str, str]:
    """An aggregate call and the type of its answer; `plain` leaves FILTER, DISTINCT and rare functions out."""
    family: tuple[tuple[str, str, bool], ...] = LINEAR if dice.often(0.5) or plain else KEYED
    if dice.shared:
        family = SHARED
    shape, kind, may_be_distinct = dice.pick(family[:8] if plain else family)
    text = filled(dice, shape, scope, 0 if dice.often(0.7) else 1)
    dice.use(shape.partition("(")[0])
    if plain:
        return text, kind
    if may_be_distinct and dice.often(0.25):
        head, _, rest = text.partition("(")
        text = f"{head}(DISTINCT {rest}" if not head.startswith("size") else text
        dice.use("DISTINCT aggregate")
    if dice.often(0.2) and text.endswith(")") and not shape.startswith(("sort_array", "size", "hll")):
        text += f" FILTER (WHERE {predicate(dice, scope, 1)})"
        dice.use("FILTER")
    return text, kind


def derived(dice: Dice, scope: Scope) -> tuple[str, str]:
    """An aggregate within an expression.

    The last digits of moments depend on the order of additions, and DISTINCT or a key would show them, so they are
    rounded.
    """
    text, kind = aggregate(dice, scope)
    if text.startswith(_MOMENTS):
        return f"round({text}, 6)", kind
    if kind in (INT, BIGINT) and dice.often(0.3):
        return f"{text} + 1", kind
    if kind == STRING and dice.often(0.2):
        return f"coalesce({text}, 'none')", STRING
    return text, kind


def group_key(dice: Dice, scope: Scope) -> tuple[str, str]:
    """A grouping expression: mostly a column."""
    columns = [column for column in scope if column.type not in NESTED or dice.often(0.3)]
    if columns and dice.often(0.75):
        found = dice.pick(columns)
        return found.text, found.type
    kind = dice.pick((INT, STRING, BOOLEAN))
    return expression(dice, kind, scope, 1), kind
