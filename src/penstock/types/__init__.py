"""The type of an expression, where a rule is certain; everything else stays None and Spark is asked.

| module | question |
| --- | --- |
| `infer` | the type of a bound expression, and whether it can be NULL |
| `check` | whether Spark takes an expression, as far as its types are known |
| `arguments` | whether a function takes its arguments |
| `inside` | whether what is in an array, a map or a struct goes with the rest, and what a lambda gives |
| `mismatch` | how types that do not fit are said, and what would work |
| `functions` | the result types of functions |
| `nested` | types of arrays, maps and structs, and the names of their fields |
| `common` | the type that values of several types have together |
| `durations` | the length that an interval stands for |
"""
