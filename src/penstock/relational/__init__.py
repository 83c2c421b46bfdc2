"""Queries as Python calls: a layer that writes SQL, which goes through the one binder.

    p.table("orders").filter(col("amount") > 10).group_by("customer").agg(F.sum("amount").alias("total"))

| module | what |
| --- | --- |
| `relation` | `Relation`: a query that grows by calls, each of which is checked at once |
| `grouped` | `Grouped`: behind `group_by`, waiting for `agg` |
| `emitting` | `Emitting`: a query that stands, behind `emit` or `stream` |
| `block` | one SELECT as a value, and how a call goes into it or around it |
| `joining` | the join of two relations: kinds, ON and USING |
| `columns` | `Column`: an expression, and Python's operators on it |
| `functions` | functions by name: `F.sum("x")` |
| `ordering` | `Window`: what OVER says |
| `time_windows` | tumble, hop, cumulate and session |
| `emission` | what EMIT says |
| `writing` | names, values and lengths of time as SQL has them |
| `saying` | errors that name the call |
| `home` | what a relation needs of its pipeline |
"""
