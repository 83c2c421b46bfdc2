"""The relational algebra between binding and running, and the expressions in it. The parser's trees end here.

| module | what it holds |
| --- | --- |
| `nodes` | the nodes of the algebra |
| `joins` | those that join two relations |
| `matching` | MATCH_RECOGNIZE |
| `node` | what every node is |
| `parts` | the expressions of a node: what each may read and call in its place |
| `scalar` | an expression over a node's input |
| `forms` | what an expression says, as values that can be matched |
| `parsing` | Spark SQL to parsed expressions over fields |
| `reading` | parsed expressions to forms |
| `clock_calls` | calls that read the clock, in parsed expressions |
| `writing` | forms to parsed expressions, and so to Spark SQL |
| `inference` | the type of a part of an expression |
| `rewording` | the clock's value and further partition keys put into an expression |
| `expressions` | nodes and conditions taken apart |
| `looking_ahead` | window calls that look ahead to rows, and the column that tells when these have come |
| `sides` | two values that are compared, one of each side of a join |
| `emission` | the clause EMIT as a value |
| `emitclause` | its text to that value |
| `refinement` | the properties by which results are refined, and settings of Flink, to that value |
| `showing` | a policy of emission as it is carried out: what of a query's changes is shown, and when |
| `tree_values` | parsed trees as plain values, for what is remembered of a program |
| `opaque` | the text of a query that is recomputed |
"""
