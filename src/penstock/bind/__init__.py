"""Statements and the catalogue become plans.

folder        | what it binds                             | entry
program/      | a program, its declarations, its changes  | compile.compile_program, queries.bind_query
query/        | a query: one SELECT, set operations, WITH | whole_query.bind_whole_query, one_select.bind_select
from_/        | FROM: tables, joins, laterals, pivots     | relations.bind_from, relations.bind_relation
expressions/  | an expression: names, calls, structs      | expression.bind_expression, calls.bind_call
select/       | the SELECT list, GROUP BY, ORDER BY       | stars.expand, grouping.grouping_of, aggregates.aggregated
subqueries/   | a subquery, and its join with the rest    | subquery.bind_subquery, attach.attached
windows/      | OVER and WINDOW                           | named_windows.with_definition, over.windowed
time_windows/ | TUMBLE, HOP, CUMULATE, SESSION            | tables.bind_window_table, group_windows.with_group_windows
row_order/    | answers that hang on the order of rows    | deterministic.deterministic_aggregate

A folder imports from those below it, and all of them from the files beside this one: what a name means (`scope`,
`level`), what a bound query is (`bound_query`, `domain`), how a mistake is said (`diagnose`). Yet an expression stands
in every clause and may hold a whole query; so a binding function goes upwards through the `Binder` that every `Context`
carries (`level`), and `binder` makes:

    WHERE x IN (SELECT …)    query.one_select → level.bind(condition) → expressions.expression → subqueries.subquery
                             → context.bind_query(query) → query.whole_query → query.one_select, one level below
"""
