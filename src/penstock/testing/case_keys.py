"""The keys of case files, each with its meaning: the reader refuses any other, and the reference shows them."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

Keys = Mapping[str, str]

FILE: Keys = MappingProxyType(
    {
        "dialect": "text; the dialect of all cases that name none, `penstock` by default",
        "settings": "mapping of text; `SET name = 'value'` before the program of each case",
        "cases": "list of cases; the only key that must be there",
        "properties": "not read; for other tools",
    }
)
CASE: Keys = MappingProxyType(
    {
        "name": "text, once in a file; `--case` picks by it; must be there",
        "about": "text; what the case shows",
        "tags": "list of texts; `--tag` picks by them",
        "dialect": "text; the dialect of this case",
        "settings": "mapping of text; added to those of the file",
        "source": "not read; where the case is from",
        "sql": "text; the program that runs before the first step; must be there, unless there are `steps`",
        "steps": "list of steps",
        "end_of_input": "true or false (default); the input ends after the last step: WATERMARK holds nothing back",
        "expect": "mapping; what must hold by the end",
        "ordered": "list of names in `rows`, `emit` or `emitted` whose rows are compared in their order",
        "invariant": "false, or text with the reason: views are not recomputed and compared after each step",
        "monotonic": "mapping relation → expression over it → `increasing`, `decreasing`, `constant` or `none`",
        "waterline": "mapping view or table → column → true or false; whether a waterline is inferred for the column",
        "normal_form": "mapping; two EMIT clauses that must say the same; needs no `sql`",
    }
)
NORMAL_FORM: Keys = MappingProxyType(
    {
        "clause": "text; an EMIT clause; must be there",
        "equals": "text; another one; must be there",
    }
)
STEP: Keys = MappingProxyType(
    {
        "clock": "time such as '2024-01-31 08:00:00', UTC without an offset; the clock from this step on",
        "advance": "span such as 3s, 100ms, 5m, 2h, 1d; the clock moves by it",
        "start": "mapping name → query; standing queries that begin before this step's input",
        "in": "list of `[table, '+' or '-' or '~', row]`; rows that go in, in this order",
        "sql": "text; statements of the same transaction, or declarations if nothing goes `in`",
        "out": "mapping view → list of `[weight, row]`; the whole change of the view in this step, in any order",
        "emit": "mapping name of a standing query → list of rows; all that it shows in this step, in any order",
        "rows": "mapping view, table or name of a query → list of rows; the whole content after this step",
        "query": "mapping name → query, whose answer `rows` compares under that name",
        "error": "mapping; the step must be refused, and leave no trace",
    }
)
EXPECT: Keys = MappingProxyType(
    {
        "emitted": "mapping name of a standing query → list of rows; all that it has shown by the end",
        "rows": "mapping view or table → list of rows; the content at the end",
        "error": "mapping; the program must be refused",
    }
)
ERROR: Keys = MappingProxyType(
    {
        "code": "text; the code of one of the errors; without it any will do",
        "contains": "text that the message holds",
    }
)
