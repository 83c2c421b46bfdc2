"""OVER, ranks that are a Top-K, and group functions of time.

| module | what is in it |
| --- | --- |
| `arrival` | the order in which rows arrive, and what looks back in it: lag, lags, neighbor |
| `frames` | frames of OVER: one whose start lies behind its end is refused |
| `named_windows` | the WINDOW clause, and the OVERs that refer to it |
| `over` | OVER: a Window node for each partition, with all its calls, under the calls' places in the query |
| `tied_rows` | OVER calls with answers that no order of equal rows changes |
| `top_k` | `ROW_NUMBER() OVER (…) <= k` above a Window is a Top-K: only the first rows of each partition need keeping |
"""
