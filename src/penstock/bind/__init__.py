"""Statements and the catalogue become plans, by folders:

folder         | what it binds                               | entry
program/       | a program; declarations, changes of tables  | compile.compile_program, queries.bind_query
query/         | a query: one SELECT, set operations, WITH   | whole_query.bind_whole_query, one_select.bind_select
from_/         | FROM: tables, joins, laterals, pivots       | relations.bind_from, relations.bind_relation
select/        | the SELECT list, GROUP BY, ORDER BY         | stars.expand, grouping.grouping_of, aggregates.aggregated
expressions/   | names, calls, structs in an expression      | expression.bind_expression
subqueries/    | a subquery, and its join with the rest      | subquery.bind_subquery, attach.attached
windows/       | OVER and WINDOW                             | over.windowed
time_windows/  | TUMBLE, HOP, CUMULATE, SESSION              | tables.bind_window_table, group_functions
row_order/     | answers that the order of rows would decide | deterministic.settled

Each folder uses those below it alone, and all of them the files beside this one: what names mean (`scope`, `level`), what
a bound query is (`bound_query`, `domain`), how a mistake is said (`diagnose`). Yet an expression stands in every clause
and may hold a whole query. So a binding function goes upwards through the `Binder` (`level`), which `binder` makes once
for a statement and every `Context` carries:

    WHERE x IN (SELECT …)   one_select → level.bind(condition) → expressions.expression → subqueries.subquery
                            → context.bind_query(query) → query.whole_query → one_select, a level below
"""
