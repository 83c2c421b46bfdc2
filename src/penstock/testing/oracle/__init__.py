"""The batch oracle: every view recomputed by Spark from its own text, which shares nothing with the engine.

| module | what it does |
| --- | --- |
| `recompute` | recomputes the views of a catalog, in their order |
| `not_in_spark` | says in Spark's words what only Penstock has: QUALIFY, windows of time, ASOF JOIN |
| `asof` | ASOF JOIN |
| `versions` | FOR SYSTEM_TIME AS OF |
| `time_windows` | TUMBLE, HOP, CUMULATE and SESSION |
| `limited_sessions` | sessions with a longest length, or with conditions that begin and end them |
| `judged` | rows that came in time for a window |
| `quantified` | comparisons with ANY or ALL of a query, and set operations BY NAME |
| `group_frames` | frames in GROUPS |
| `row_order` | functions whose answer depends on the order of rows |
| `value_frames` | `first_value` and its kin over frames that take equal rows together |
| `whole_rows` | the row that ties go by, where no GROUP BY stands |
| `group_rows` | the row that ties go by above GROUP BY |
| `quotients` | quotients and averages of whole numbers, where a dialect has whole ones |
| `typed` | (views whose words mean what the types say, which are taken as they are) |
| `arrival` | the order of arrival of dialect flink |
| `clock` | the current time as the step's clock |
"""

from penstock.testing.oracle.judged import judges_otherwise
from penstock.testing.oracle.recompute import Oracle, matches_rows, reads_error_view
from penstock.testing.oracle.typed import goes_by_types
from penstock.testing.oracle.versions import reads_versions

__all__ = ["Oracle", "goes_by_types", "judges_otherwise", "matches_rows", "reads_error_view", "reads_versions"]
