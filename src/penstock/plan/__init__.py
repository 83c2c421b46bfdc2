"""The relational algebra between binding and running.

| module | what is in it |
| --- | --- |
| `expressions` | taking plan nodes and conditions apart |
| `forms` | what an expression says, as values that can be matched: the algebra of scalar expressions |
| `inference` | the type of a part of an expression, from those of the fields that it reads |
| `nodes` | the relational algebra that a view is bound to |
| `opaque` | the text of a recomputed query, with places for its relations |
| `reading` | the form of a parsed expression |
| `scalar` | scalar expressions of a plan: a parsed expression with its canonical Spark SQL text |
| `sides` | two values that are compared, each of one of two relations: which of them is of the left one |
| `writing` | the parsed expression of a form, and so its text as Spark SQL |
"""
