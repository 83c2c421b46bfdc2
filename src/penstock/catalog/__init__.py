"""All that has been declared, and what is known of types and functions.

| module | what it knows |
| --- | --- |
| `model` | tables, views, functions, outputs and settings as declared |
| `properties` | what may stand in WITH |
| `settings` | the settings that SET knows |
| `meanings` | the settings of Spark on which answers depend, from `spark_meanings.txt` |
| `memory` | how much memory a setting allows |
| `reserved` | names of columns that Penstock itself gives to rows |
| `shown_names` | what people read in place of names that nobody has written |
| `types` | the names of types, as Spark writes them |
| `functions` | Spark's built-in functions, from `functions.json` |
| `signatures` | the types that Spark takes, from `signatures.json` |
| `sorting` | how values are sorted that Spark cannot sort |
| `zones` | time zones |
| `word_list` | lists of names and key words, written as one text |
"""
