"""Operators on Spark DataFrames: the session, changes, traces, plans as Spark SQL.

| module       | what is in it                                                              |
| ------------ | -------------------------------------------------------------------------- |
| operators    | running operators, a file for each class                                   |
| change       | the change of a relation: weighted rows, on the driver or on the executors |
| trace        | weighted rows that are kept, in layers                                     |
| collecting   | a trace without what its operator may forget                               |
| kept         | a trace that no operator has, and what a step proposes for it              |
| content      | the content of a view: such a trace                                        |
| carrying     | types that Arrow carries to Python and back unchanged                      |
| stored       | rows of a table on the executors, found by some of their columns           |
| streamed     | the rows of a DataFrame as a stream of Arrow, some partitions at a time     |
| exchange     | rows between Arrow and DataFrames in declared types                        |
| given        | DataFrames that the user gives as rows of a table                          |
| judging      | lateness as Spark SQL                                                      |
| following    | what Spark reads by a format's name, batch by batch                        |
| fetched      | DataFrames as tuples of Python values                                      |
| sums         | partial results of a small change, added up on the driver                  |
| workspace    | what the operators of one engine share: session, sizes, names of relations |
| checkpoints  | rows evaluated on the executors, given back when nothing reads them        |
| written      | rows on the executors as Parquet files of a snapshot, and back             |
| remembered   | what operators remember, for a snapshot                                    |
| telling      | values that only Spark can tell, for the process                           |
| void_columns | rows in Arrow with columns of the type VOID, which PySpark cannot carry     |
| names        | names of relations and columns in the text of queries                      |
| shortcuts    | names and local rows with fewer calls to the JVM                           |
| dialect      | Spark's SQL for the nodes of plans                                         |
| window_calls | window calls with further keys; what the order of equal rows changes       |
| functions    | functions of Penstock that Spark calls                                     |
| grouping     | rows as keys: grouping, and the hash that places a key                     |
| parameters   | constants that move, kept out of generated code                            |
| batch        | plans over whole contents, and the types that only Spark knows             |
| fixpoint     | recursive views over whole contents                                        |
| typed        | types of expressions as Spark gives them, for the circuit                  |
| schemas      | Spark's schemas of declared columns, made without asking a JVM             |
| schema_classes | the classes of which Spark's schemas consist                           |
| typetext     | a Spark type as the catalog writes it                                      |
| session      | the Spark session and its settings                                         |
| settings     | the settings of a session, and the program's in it while it runs           |
| later        | a session that is opened when it is first needed, known before             |
| starting     | a session that will be needed, begun on another thread                     |
| jvm          | the Java that Spark runs on                                                |
| raised       | what exceptions of Spark say                                               |
| interrupts   | Ctrl-C while Spark works                                                   |
"""
