"""Text to statements: the grammar, its dialects, and trees back to Spark SQL.

| module | what it does |
| --- | --- |
| `parse` | a program's text to statements; the entry of this package |
| `statements` | the statements, as frozen values |
| `statement_sets` | EXECUTE STATEMENT SET: statements that stand together |
| `lexer` | text to tokens |
| `cursor` | the place in a statement, and what the grammar asks of it |
| `dialect` | the grammar, on sqlglot |
| `strict` | the places at which sqlglot would read over a token |
| `understood` | the parts of a query that something reads; any other is refused |
| `hints` | hints, which change no answer |
| `dialects/` | what each dialect writes in its own way |
| `border` | nothing that a library raises leaves compiling without code and place |
| `rules` | in which ways dialects may differ |
| `marks` | makes streaming words visible to the parser |
| `nodes` | syntax nodes that sqlglot does not have |
| `create` | CREATE, DECLARE and DROP |
| `alter` | ALTER TABLE … ADD COLUMNS, SET, RESET |
| `columns` | the columns, keys and properties of CREATE TABLE |
| `peer_properties` | properties by the names of Flink's and Spark's connectors |
| `properties` | properties in the text: WITH, SETTINGS, OPTIONS |
| `streams` | the streams of the dialect timeplus |
| `partitions` | its PARTITIONED BY |
| `sparktables` | Spark's own clauses of CREATE TABLE |
| `dml` | INSERT, UPDATE, DELETE and queries |
| `standing` | DELETE and UPDATE over a stream, which stand |
| `literals` | the values that a statement writes down |
| `session` | transactions, positions, settings, SHOW, EXPLAIN, LATENESS, ADVANCE |
| `points` | points of the past: AS OF and START AT at the end of a query |
| `pipes` | `FROM t |> …` |
| `tablefunctions` | TUMBLE, HOP, SESSION and others in FROM |
| `jsonvalues` | the words behind the arguments of the JSON functions of standard SQL |
| `protonforms` | the forms that Timeplus has of ClickHouse |
| `matchclause` | MATCH_RECOGNIZE in FROM |
| `rowpattern` | its pattern |
| `types` | types in any dialect's spelling |
| `texttypes` | casts to a type that a text names |
| `finish` | what is settled once a tree stands |
| `similar` | SIMILAR TO as a regular expression |
| `aliases` | names of the SELECT list within WHERE |
| `trees` | questions about parsed trees |
| `text` | trees back to text, and their places in it |
| `limits` | how deep operations may be nested |
| `nesting` | room for what is nested deeply |
| `unread` | queries that the parser leaves to Spark |
| `clausewords` | the words, and lengths of time, of a clause that the parser leaves unread |
| `failure` | how a parse stops |
| `diagnose` | what is wrong where it stopped, in words |
| `complaints` | mistakes at their place in the program |
| `escapes` | a backslash in texts and patterns, as the dialect has it |
| `standardforms` | forms of standard SQL that Spark lacks |
| `unsigned` | casts to whole numbers without a sign |
| `keywords` | the words of the language |
| `compiled` | refuses a sqlglot that cannot be extended |
"""

from penstock.sql.compiled import refuse_compiled

refuse_compiled()
