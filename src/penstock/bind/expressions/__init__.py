"""Expressions: what names, calls, structs and subqueries in them mean.

| module | what is in it |
| --- | --- |
| `by_type` | functions of Timeplus whose meaning goes by the type of what they are given |
| `calls` | calls: of functions of Spark and of the program, and of the group functions of time |
| `statistics` | AVG, STDDEV and VARIANCE, which have the type of their argument |
| `dates` | FLOOR, CEIL and TIMESTAMPADD of a DATE in the dialects of standard SQL: a DATE |
| `expression` | expressions bound to fields: columns resolved, functions checked, subqueries left as marks |
| `functions` | the functions of Spark: whether there is one of that name, and how many arguments it takes |
| `inner_order` | ORDER BY and LIMIT between the brackets of a call |
| `structs` | structs and ARRAYS_ZIP, whose fields are named after what stands in them |
"""
