"""Plans made by hand over two small tables: one for each operator that a circuit can have."""

from __future__ import annotations

from penstock.catalog.model import Catalog, Column, Table, View
from penstock.plan.nodes import (
    Aggregate,
    AggregateCall,
    Distinct,
    Field,
    Filter,
    Generate,
    Join,
    JoinKey,
    JoinKind,
    Plan,
    Project,
    Recompute,
    Scan,
    SetKind,
    SetOperation,
    SortKey,
    TopK,
    UnionAll,
    Window,
)
from penstock.plan.scalar import Scalar, column, render_scalar
from penstock.sql.parse import parse_expression

LEFT_TABLE = Table("t", (Column("k", "int"), Column("x", "bigint"), Column("d", "double"), Column("s", "string")))
RIGHT_TABLE = Table("u", (Column("k", "bigint"), Column("y", "int")))


def scalar(text: str, kind: str | None = None) -> Scalar:
    tree = parse_expression(text)
    return Scalar(render_scalar(tree), tree, kind)


def call(
    function: str, argument: str | None = None, kind: str | None = None, *, distinct: bool = False
) -> AggregateCall:
    arguments = (scalar(argument, kind),) if argument else ()
    inside = ("DISTINCT " if distinct else "") + (argument or "*")
    return AggregateCall(function, arguments, scalar(f"{function}({inside})"), distinct=distinct)


def scanned(table: Table, alias: str) -> Plan:
    fields = tuple(Field(item.name, item.type) for item in table.columns)
    items = tuple((f"{alias}.{item.name}", column(item.name, item.type)) for item in table.columns)
    return Project(Scan(table.name, fields), items)


T = scanned(LEFT_TABLE, "t")
U = scanned(RIGHT_TABLE, "u")
ON = (JoinKey(column("t.k"), column("u.k")),)
KEY = (("k", column("t.k")),)
ALL_T = tuple(Field(item.name) for item in LEFT_TABLE.columns)
LEFT_KEYS = Project(T, (("k", scalar("cast(`t.k` as bigint)")),))
RIGHT_KEYS = Project(U, (("k", column("u.k")),))
JOINED = Join(T, U, JoinKind.INNER, ON, scalar("`t.x` > `u.y`"))
SUMS = (
    ("n", call("count")),
    ("s", call("sum", "`t.x`")),
    ("a", call("avg", "`t.x`")),
    ("c", call("count", "`t.s`")),
)
ROW_NUMBER = scalar("row_number() over (partition by `t.k` order by `t.x`, `t.d`, `t.s`)")
TOTAL = scalar("sum(`t.x`) over (partition by `t.k`)")

PLANS: dict[str, Plan] = {
    "linear": Project(Filter(T, scalar("`t.x` > 3")), (("a", scalar("`t.x` + 1")), ("s", scalar("upper(`t.s`)")))),
    "additive": Aggregate(T, KEY, SUMS),
    "additive_global": Aggregate(T, (), SUMS),
    "buckets": Aggregate(
        T,
        (),
        (
            ("hi", call("max", "`t.d`", "double")),
            ("lo", call("min", "`t.x`", "bigint")),
            ("n", call("count")),
            ("s", call("sum", "`t.k`", "int")),
        ),
    ),
    "keyed": Aggregate(
        T,
        KEY,
        (
            ("m", call("max", "`t.x`")),
            ("d", call("sum", "`t.d`")),
            ("c", call("count", "`t.s`", distinct=True)),
        ),
    ),
    "keyed_global": Aggregate(T, (), (("n", call("count")), ("m", call("median", "`t.x`")))),
    "join": JOINED,
    "join_then_group": Aggregate(JOINED, (("s", column("t.s")),), (("n", call("count")), ("z", call("sum", "`u.y`")))),
    "left_join": Join(T, U, JoinKind.LEFT, ON, scalar("`t.x` > `u.y`")),
    "right_join": Join(T, U, JoinKind.RIGHT, ON),
    "full_join": Join(T, U, JoinKind.FULL, ON),
    "semi_join": Join(T, U, JoinKind.SEMI, ON),
    "anti_join": Join(T, U, JoinKind.ANTI, ON),
    "not_in": Join(T, U, JoinKind.ANTI, ON, null_aware=True),
    "non_equi_join": Join(T, U, JoinKind.INNER, (), scalar("`t.x` < `u.y`")),
    "distinct": Distinct(Project(T, (("k", column("t.k")), ("s", column("t.s"))))),
    "except_all": SetOperation(LEFT_KEYS, RIGHT_KEYS, SetKind.EXCEPT, all=True, outputs=(Field("k"),)),
    "except": SetOperation(LEFT_KEYS, RIGHT_KEYS, SetKind.EXCEPT, all=False, outputs=(Field("k"),)),
    "intersect_all": SetOperation(LEFT_KEYS, RIGHT_KEYS, SetKind.INTERSECT, all=True, outputs=(Field("k"),)),
    "intersect": SetOperation(LEFT_KEYS, RIGHT_KEYS, SetKind.INTERSECT, all=False, outputs=(Field("k"),)),
    "top_by_key": TopK(T, (column("t.k"),), (SortKey(column("t.x"), descending=True, nulls_first=False),), 2),
    "top": TopK(T, (), (SortKey(column("t.x")),), 3, 1),
    "top_one": TopK(T, (), (SortKey(column("t.x"), descending=True, nulls_first=False),), 1),
    "window": Window(T, (column("t.k"),), (("rn", ROW_NUMBER), ("total", TOTAL))),
    "generate": Generate(T, scalar("explode(split(`t.s`, ''))"), (Field("letter"),)),
    "union": UnionAll((LEFT_KEYS, RIGHT_KEYS), (Field("k"),)),
    "recomputed": Recompute(
        (Scan("t", ALL_T),),
        "SELECT k, x, rank() OVER (ORDER BY x) AS r FROM {0}",
        (Field("k"), Field("x"), Field("r")),
        "OVER without PARTITION BY",
    ),
}


def catalog(*names: str) -> Catalog:
    found = Catalog().with_table(LEFT_TABLE).with_table(RIGHT_TABLE)
    for name in names or PLANS:
        columns = tuple(Column(item.name, item.type or "") for item in PLANS[name].fields)
        found = found.with_view(View(name, "", None, columns, PLANS[name]))
    return found
