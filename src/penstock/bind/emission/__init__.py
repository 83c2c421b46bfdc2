"""EMIT: a query and its policy, bound to a view that gives what the policy has to know.

    SELECT k, SUM(x) … GROUP BY window_start, k EMIT AFTER WATERMARK
      →  a view of k, SUM(x) and behind them what the rows are grouped by; a `Showing`; and the views that keep
         waterlines of the query's own

| module | what |
| --- | --- |
| `seeking` | the past that a standing query reads |
| `standing` | a query with its clauses as views to install |
| `streamed` | SELECT STREAM: the order of its rows, and the column by which they become final |
| `falling` | keys that go down as a stream goes up |
| `arrivals` | a stream that meets tables: rows meet them as they are when they come |
| `clauses` | the clauses that a policy takes over: ORDER BY, LIMIT, LIMIT … BY, emit_version(), `_tp_delta`, groups |
| `policy` | what is shown and when, where the query does not say: by its kind, in its dialect |
| `by_event` | PER EVENT: aggregates that run over the rows so far |
| `whole_sessions` | GROUP BY window_start of a session, which is by its end as well |
| `window_columns` | which columns of a plan tell windows apart |
"""
