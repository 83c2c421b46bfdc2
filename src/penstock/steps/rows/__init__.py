"""Input as checked rows of declared types: values, batches, and what was rejected.

| module | what |
| --- | --- |
| `partitioned` | from which partition of its source each row has come |
| `batch` | what comes in for one table, checked: rows in declared types, an operation for each |
| `cells` | values of Arrow columns that Python or Spark cannot hold |
| `added` | what rows have in columns that were added after them |
| `defaults` | what stands in a column that a row leaves out |
| `computing` | the values of computed columns, and what is wrong with a row that has none |
| `new_columns` | what rows have beyond the columns of their table, and in which types |
| `identity` | when rows are the same |
| `refused` | rows that a step goes without because a view raises for them |
| `row_lines` | the waterlines that rows keep, for readers that judge them |
| `rejected` | rows that did not make it into their table |
| `interval_texts` | intervals as text, as Spark writes them |
| `values` | checks of single values against declared types |
"""
