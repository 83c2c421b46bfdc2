"""Testing SQL: case files, their runs, and the oracle that recomputes every view from scratch.

| module | what it is for |
| --- | --- |
| `cases` | case files, read into frozen values |
| `case_keys` | their keys, with what each means |
| `documents` | the YAML that they are written in |
| `case_run` | runs cases, and judges what comes out |
| `content` | what a case has seen of its pipeline |
| `recut` | a case with its input in other steps |
| `values` | one plain form for values, and when two count as equal |
| `multisets` | rows with their weights: compared, and added up to a content |
| `oracle/` | recomputes every view by batch |
| `fixture` | the pytest plugin that runs case files |
| `spark_settings` | Spark's settings for many small queries |
| `fuzz/` | random programs and changes |
| `analyser` | what Spark says of the types of many expressions at once |
| `borrowed` | queries that others wrote for Spark |
"""
