"""Programs and their statements: declarations, changes of tables, views, recursion.

| module | what is in it |
| --- | --- |
| `add_columns` | ALTER TABLE … ADD COLUMNS |
| `circles` | a table that would be written with what is read from it |
| `compile` | a whole program: its statements in order, the declarations among them in the catalogue |
| `computed` | computed columns of tables |
| `create_function` | CREATE FUNCTION |
| `watermarks` | tables of dialect flink, whose rows keep how far time had got when they came |
| `create_table` | CREATE TABLE: its key, its defaults, the keys of other tables that it names |
| `declare` | DDL and SET: each statement checked against the catalogue and added to it |
| `declared_later` | a name that is used before its declaration: whether it is declared further down, or in a circle |
| `dml` | INSERT, UPDATE and DELETE bound to their table |
| `drop` | DROP of tables, views and functions |
| `existing` | names that are taken, and relations that others read |
| `one_statement` | one statement declared, or checked against what is declared |
| `other_dialects` | which other dialects would take a statement that is refused |
| `purity` | functions that a view cannot contain: their answer is another one each time, or depends on who asks |
| `queries` | a query as a statement: its plan over a catalogue |
| `recursion` | DECLARE RECURSIVE VIEW |
| `set_properties` | ALTER TABLE … SET and RESET |
| `unparsed` | views whose query our parser cannot read: which relations the text names, found by tokens |
| `views` | CREATE VIEW: the bound view, what it reads, and what replacing it does to its readers |
| `writers` | INSERT that stands, and CREATE VIEW … INTO |
| `transactions` | BEGIN, COMMIT and ROLLBACK in their order |
"""
