"""Statements and the catalogue become plans.

folder        | what it binds                             | entry
program/      | a program, its declarations, its changes  | compile.compile_program, queries.bind_query
emission/     | a query that stands, and its policy       | standing.bind_standing
query/        | a query: one SELECT, set operations, WITH | whole_query.bind_whole_query, one_select.bind_select
from_/        | FROM: tables, joins, laterals, pivots     | relations.bind_from, relations.bind_relation
expressions/  | an expression: names, calls, structs      | expression.bind_expression, calls.bind_call
select/       | the SELECT list, GROUP BY, ORDER BY       | stars.expand, grouping.grouping_of, aggregates.aggregated
subqueries/   | a subquery, and its join with the rest    | subquery.bind_subquery, attach.attached
matching/     | MATCH_RECOGNIZE                           | clause.bind_match_recognize
windows/      | OVER and WINDOW                           | named_windows.with_definition, over.windowed
time_windows/ | TUMBLE, HOP, CUMULATE, SESSION            | tables.bind_window_table, in_group_by.with_group_windows
peers/        | words with the meaning of another system  | meanings.in_peers_meaning
row_order/    | answers that hang on the order of rows    | deterministic.deterministic_aggregate

A folder imports from those below it, and all of them from the files beside this one: what a name means (`scope`,
`level`), what a bound query is (`bound_query`, `domain`), how a mistake is said (`diagnose`). Yet an expression stands
in every clause and may hold a whole query; so a binding function goes upwards through the `Binder` that every `Context`
carries (`level`), and `binder` makes:

    WHERE x IN (SELECT …)    query.one_select → level.bind(condition) → expressions.expression → subqueries.subquery
                             → context.bind_query(query) → query.whole_query → query.one_select, one level below

| module | what is in it |
| --- | --- |
| `binder` | the binder of a program |
| `bound_query` | a bound query: its plan, the names of its columns, and what an enclosing query has to know of it |
| `diagnose` | errors of the binder: what was found where, and what would work |
| `domain` | the values of an enclosing query that a subquery is bound over |
| `group_window` | a window of time in GROUP BY, as the rest of its query sees it |
| `join_keys` | a condition of a join split into keys, with both sides of one type, and the rest |
| `level` | one query level while it is bound: its scope, its subqueries, what it reads of the enclosing query |
| `marks` | the marks that the binder leaves in parsed trees |
| `query_settings` | SETTINGS of a query: which there are, and their values |
| `modality` | which queries can be asked as a stream, and which as a relation |
| `opened_variants` | steps into a VARIANT, and casts of one, as calls of Spark's functions |
| `rounded_dates` | DATE_TRUNC, FLOOR and CEIL of a DATE in the dialects in which they are one |
| `taking_in` | the rows that a standing query takes in: from now on, those that are not late |
| `judging` | readers that judge rows by their waterline: windows and what else goes by time |
| `relation` | a relation of FROM: a plan whose fields are named `alias.column`, and the scope that finds them |
| `scalars` | bound trees as scalars over the fields of a plan |
| `arrival_order` | aggregates and OVER of dialect flink that go by the order of arrival |
| `event_time` | whether a column is one with LATENESS, through projections, filters, joins and views |
| `scope` | the names of one query and their meaning |
"""
