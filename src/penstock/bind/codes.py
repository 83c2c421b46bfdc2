"""The codes of the binder's diagnostics, each with what it is about."""

from __future__ import annotations

# Wrong SQL
AGGREGATE_IN_DML = "AGGREGATE_IN_DML"  # an aggregate in UPDATE or DELETE
AGGREGATE_IN_GROUP_BY = "AGGREGATE_IN_GROUP_BY"  # an aggregate in GROUP BY
AGGREGATE_IN_WHERE = "AGGREGATE_IN_WHERE"  # an aggregate in WHERE; it belongs into HAVING
ALREADY_EXISTS = "ALREADY_EXISTS"  # a second table, view or function of one name
AMBIGUOUS_COLUMN = "AMBIGUOUS_COLUMN"  # a name that several relations have
ASOF_MATCH = "ASOF_MATCH"  # MATCH_CONDITION that compares no left with a right value
ASOF_WITHOUT_MATCH = "ASOF_WITHOUT_MATCH"  # ASOF JOIN without MATCH_CONDITION
DEFAULT_NOT_CONSTANT = "DEFAULT_NOT_CONSTANT"  # DEFAULT that reads a column or a table
DIFFERENT_NUMBER_OF_COLUMNS = "DIFFERENT_NUMBER_OF_COLUMNS"  # a set operation over different numbers of columns
DUPLICATE_COLUMN = "DUPLICATE_COLUMN"  # two columns of one name
GROUPING_WITHOUT_SETS = "GROUPING_WITHOUT_SETS"  # GROUPING without GROUPING SETS, CUBE or ROLLUP
HAS_DEPENDANTS = "HAS_DEPENDANTS"  # dropping or changing what a view reads
JOIN_WITHOUT_CONDITION = "JOIN_WITHOUT_CONDITION"  # an outer join without ON
LATERAL_FIRST = "LATERAL_FIRST"  # LATERAL or UNNEST with nothing before it
MISSING_VALUE = "MISSING_VALUE"  # INSERT that leaves out a NOT NULL column
NESTED_AGGREGATE = "NESTED_AGGREGATE"  # an aggregate inside another
NON_DETERMINISTIC = "NON_DETERMINISTIC"  # rand(), uuid() and the like in a view
NOT_AN_INTERVAL = "NOT_AN_INTERVAL"  # a time window without a usable length
NOT_AS_DECLARED = "NOT_AS_DECLARED"  # a recursive view with other columns than declared
NOT_A_DECLARATION = "NOT_A_DECLARATION"  # a statement that declares nothing
NOT_A_GENERATOR = "NOT_A_GENERATOR"  # LATERAL VIEW of a function that gives one value
NOT_A_STRUCT = "NOT_A_STRUCT"  # .* of something that has no fields
NOT_A_TABLE = "NOT_A_TABLE"  # INSERT, UPDATE or DELETE of a view
NOT_IN_GROUP_BY = "NOT_IN_GROUP_BY"  # a column neither grouped by nor aggregated
NULL_IN_NOT_NULL = "NULL_IN_NOT_NULL"  # NULL for a NOT NULL column
ORDER_BY_NOT_SELECTED = "ORDER_BY_NOT_SELECTED"  # ORDER BY what SELECT DISTINCT does not have
PARAMETER = "PARAMETER"  # a parameter without a value
POSITION_OUT_OF_RANGE = "POSITION_OUT_OF_RANGE"  # GROUP BY or ORDER BY with a number beyond the SELECT list
RECURSION_WITHOUT_UNION = "RECURSION_WITHOUT_UNION"  # a recursive CTE that is no UNION
RECURSIVE_VIEW_WITHOUT_QUERY = "RECURSIVE_VIEW_WITHOUT_QUERY"  # a recursive view declared and never created
SEVERAL_ALIASES = "SEVERAL_ALIASES"  # several names for one value
STAR_HERE = "STAR_HERE"  # * where a value is needed
STAR_WITHOUT_FROM = "STAR_WITHOUT_FROM"  # * without FROM
SUBQUERY_COLUMNS = "SUBQUERY_COLUMNS"  # a subquery with a wrong number of columns
UNKNOWN_COLUMN = "UNKNOWN_COLUMN"  # a column that does not exist
UNKNOWN_COLUMNS = "UNKNOWN_COLUMNS"  # a generator whose columns are not known
UNKNOWN_FUNCTION = "UNKNOWN_FUNCTION"  # a function that does not exist
UNKNOWN_RELATION = "UNKNOWN_RELATION"  # a table or view that does not exist
UNKNOWN_TABLE = "UNKNOWN_TABLE"  # a table that does not exist
UNKNOWN_WINDOW = "UNKNOWN_WINDOW"  # a named window that does not exist
VALUES_OF_DIFFERENT_LENGTH = "VALUES_OF_DIFFERENT_LENGTH"  # rows of VALUES with different numbers of columns
VIEW_CYCLE = "VIEW_CYCLE"  # a view that reads itself
WINDOW_ARGUMENTS = "WINDOW_ARGUMENTS"  # a time window with wrong arguments
WRONG_KIND = "WRONG_KIND"  # DROP TABLE of a view, or the other way round
WRONG_NUMBER_OF_ARGUMENTS = "WRONG_NUMBER_OF_ARGUMENTS"  # a function with too few or too many arguments
WRONG_NUMBER_OF_NAMES = "WRONG_NUMBER_OF_NAMES"  # a list of column names of the wrong length
WRONG_NUMBER_OF_VALUES = "WRONG_NUMBER_OF_VALUES"  # INSERT with too few or too many values

# Right SQL that Penstock cannot run
ASOF_CONDITION = "ASOF_CONDITION"  # ON of an ASOF JOIN with more than equalities
DISTINCT_ON = "DISTINCT_ON"  # DISTINCT ON
EMIT = "EMIT"  # EMIT
FETCH = "FETCH"  # FETCH FIRST
JOIN_KIND = "JOIN_KIND"  # a kind of join that there is not
LATERAL_CONDITION = "LATERAL_CONDITION"  # a lateral join on a condition
LIMIT = "LIMIT"  # LIMIT or OFFSET of something else than a number
NOT_TOGETHER = "NOT_TOGETHER"  # what Spark lacks inside what is recomputed
PIVOT = "PIVOT"  # PIVOT over several columns
QUANTIFIED_COMPARISON = "QUANTIFIED_COMPARISON"  # comparison with ANY or ALL of a subquery
QUERY = "QUERY"  # a form of query that there is not
SAMPLE = "SAMPLE"  # TABLESAMPLE
SELECT_STREAM = "SELECT_STREAM"  # SELECT STREAM
SESSION_WINDOW = "SESSION_WINDOW"  # SESSION windows
SEVERAL_GENERATORS = "SEVERAL_GENERATORS"  # two generators in one SELECT list
STAR_OVER_RECOMPUTED = "STAR_OVER_RECOMPUTED"  # * over what is recomputed
SUBQUERY_IN_DML = "SUBQUERY_IN_DML"  # a subquery in UPDATE or DELETE
TABLE_VERSION = "TABLE_VERSION"  # reading a table as it was
UNION_BY_NAME = "UNION_BY_NAME"  # UNION BY NAME
UNNEST = "UNNEST"  # UNNEST of several arrays WITH ORDINALITY
