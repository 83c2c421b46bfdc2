"""The dialects by name; each is a file of data.

| module | dialect |
| --- | --- |
| `penstock` | our own: Spark's names, and every streaming construct |
| `calcite` | standard SQL's names |
| `feldera` | Calcite's SQL with BigQuery's date functions |
| `feldera_functions` | its functions in Spark's words |
| `parts_of_time` | EXTRACT in `calcite` and `feldera` |
| `flink` | Flink SQL's names of types, and of settings |
| `flink_forms` | its predicates that are no calls, in Spark's words |
| `flink_functions` | its functions in Spark's words |
| `standard_forms` | words of standard SQL in `calcite`, `feldera` and `flink`: UNKNOWN, PI |
| `timeplus` | ClickHouse's names of types and functions |
| `timeplus_aggregates` | its aggregates in Spark's words |
| `timeplus_functions` | its functions in Spark's words |
| `timeplus_texts` | its functions over texts, times as texts, and JSON |
| `standard_functions` | functions that are alike in standard SQL's systems, and not in Spark |
| `rewriting` | (calls that a dialect writes in another way than Spark) |
"""

from __future__ import annotations

from penstock.errors import Diagnostic, Span, SqlError, did_you_mean
from penstock.sql.dialects import calcite, feldera, flink, penstock, timeplus
from penstock.sql.rules import Rules

DIALECTS: dict[str, Rules] = {
    module.RULES.name: module.RULES for module in (penstock, feldera, calcite, flink, timeplus)
}


def rules_of(dialect: str, span: Span | None = None) -> Rules:
    """The dialect of that name; raises SqlError with the names that exist."""
    found = DIALECTS.get(dialect.lower())
    if found is None:
        raise SqlError(
            Diagnostic(
                "UNKNOWN_DIALECT",
                f"there is no dialect {dialect[:60]}",
                span,
                candidates=did_you_mean(dialect, list(DIALECTS)),
                hint=f"the dialects are {', '.join(DIALECTS)}",
            )
        )
    return found
