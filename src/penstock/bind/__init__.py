"""Statements and the catalogue become plans.

module                                | question it answers
program, declare, views               | what does a program declare, and is every statement right?
query, select, setoperations          | what does a query mean?
relations, joins, generators, asof    | what is in FROM?
laterals                              | what in FROM reads what stands before it?
scope, level, expressions, stars      | what does a name mean here?
grouping, groupingsets, aggregates    | what does GROUP BY do?
windows, ranks, ordering              | what depends on an order, and on which?
subqueries, correlation, attach       | how does a subquery become a join?
deterministic, purity                 | is the answer decided by the tables' contents alone?
timewindows, groupwindows, sessions   | in which windows of time is a row?
grids, durations                      | where do such windows begin and end?
pivots                                | which other constructs are rewritten to plain algebra?
recursion                             | what is recursive, and where does it end?
fallback, unparsed                    | what is left to Spark whole (A5)?
types, functiontypes                  | which types are certain without Spark?
dml                                   | which rows does an INSERT, UPDATE or DELETE name?
codes, diagnose                       | how is a mistake said?
"""
