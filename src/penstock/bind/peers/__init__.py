"""Expressions whose words mean something else in the system that a dialect is named after.

| module | what it gives the peer's meaning |
| --- | --- |
| `meanings` | a bound expression: which of these rules a dialect has, and the types of its parts |
| `integers` | `/`, CEIL, FLOOR and SIGN, whose answers have the type of what they are given |
| `times` | DATE and INTERVAL, numbers cast to times and back |
| `numbers` | numbers as texts and halves in Timeplus |
| `rows` | comparisons of rows that have a NULL |
| `casts` | casts that cut digits off, and of texts to BOOLEAN |
"""
