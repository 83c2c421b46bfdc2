"""Words of the language: for error messages and for completion in the REPL."""

from __future__ import annotations

from penstock.catalog.word_list import word_list

CLAUSES = word_list(
    """
    SELECT STREAM DISTINCT FROM WHERE GROUP HAVING QUALIFY WINDOW ORDER LIMIT OFFSET UNION INTERSECT EXCEPT MINUS
    VALUES WITH RECURSIVE JOIN INNER LEFT RIGHT FULL OUTER CROSS NATURAL SEMI ANTI ASOF USING LATERAL VIEW UNNEST PIVOT
    UNPIVOT BETWEEN LIKE ILIKE RLIKE EXISTS CASE WHEN THEN ELSE PARTITION RANGE ROWS PRECEDING FOLLOWING FILTER OVER
    MATCH_RECOGNIZE MEASURES PATTERN DEFINE SUBSET WITHIN
    EMIT SETTINGS MATCH_CONDITION CAST INTERVAL INTO TABLE CREATE REPLACE MATERIALIZED LATENESS WATERMARK
    PRIMARY FOREIGN REFERENCES DEFAULT COMMENT
    """
)

# Words that structure a query, and so are rarely meant as names.
STRUCTURE = frozenset(
    word_list(
        """
    SELECT DISTINCT FROM WHERE GROUP HAVING QUALIFY WINDOW ORDER LIMIT OFFSET UNION INTERSECT EXCEPT MINUS VALUES WITH
    JOIN INNER LEFT RIGHT FULL OUTER CROSS NATURAL SEMI ANTI ASOF ON USING LATERAL BY AND OR NOT IN IS BETWEEN LIKE
    ILIKE RLIKE CASE WHEN THEN ELSE END AS PARTITION OVER EMIT SETTINGS ASC DESC NULLS CREATE INTO SET TO
    """
    )
) | {"GROUP BY", "ORDER BY", "PARTITION BY", "SORT BY", "CLUSTER BY", "DISTRIBUTE BY"}

STATEMENTS = word_list(
    """
    CREATE DROP DECLARE INSERT UPSERT UPDATE DELETE SELECT WITH VALUES BEGIN COMMIT ROLLBACK SET RESET SHOW DESCRIBE
    EXPLAIN LATENESS ADVANCE SAVE
    """
)

DDL = word_list(
    """
    OR REPLACE LOCAL MATERIALIZED TABLE STREAM VIEW FUNCTION IF NOT EXISTS NULL DEFAULT LATENESS AHEAD ROWS WATERMARK
    PRIMARY KEY FOREIGN REFERENCES COMMENT DOMAIN CONSTANT RETURNS RETURN TABLES VIEWS FUNCTIONS WATERLINES STATE TIME
    ZONE TRANSACTION ANALYZE CHANGELOG POSITION POSITIONS
    """
)

TYPES = word_list(
    """
    BOOLEAN TINYINT SMALLINT INT BIGINT FLOAT DOUBLE DECIMAL STRING VARCHAR CHAR BINARY DATE TIMESTAMP TIMESTAMP_NTZ
    INTERVAL ARRAY MAP STRUCT VARIANT
    """
)

EMISSION = word_list("AFTER WATERMARK DELAY PERIODIC REPEAT TIMEOUT LAST CHANGES UPDATE EVENT SESSION CLOSE")

# Words that cannot be an alias of a relation without quotes, as in Spark's default mode.
RESERVED = frozenset(
    word_list("ANTI CROSS EXCEPT FULL INNER INTERSECT JOIN LATERAL LEFT MINUS NATURAL ON RIGHT SEMI UNION USING")
)

KEYWORDS = tuple(sorted({*CLAUSES, *STATEMENTS, *DDL, *TYPES, *EMISSION, "AND", "OR", "NOT", "IN", "IS", "ON", "AS"}))

# Statements of Spark that a streaming program has no use for, and what to do instead.
UNBUILT = {
    "ALTER": "drop and create it again; views over it must be dropped first",
    "MERGE": "a table with a PRIMARY KEY takes INSERT as an upsert",
    "TRUNCATE": "use DELETE FROM the table",
    "USE": "a pipeline is one namespace",
    "CACHE": "use CREATE MATERIALIZED VIEW",
    "UNCACHE": "use CREATE VIEW",
    "REFRESH": "views are always up to date",
    "ANALYZE": "Penstock observes sizes itself",
    "OPTIMIZE": "state is compacted by itself",
    "VACUUM": "state is compacted by itself",
    "GRANT": "access is governed outside the program",
    "REVOKE": "access is governed outside the program",
    "LOAD": "declare a table WITH ('connector' = 'files', 'path' = …)",
    "CALL": "there are no procedures",
    "ADD": "start with --conf spark.jars=…",
    "COPY": "declare a table WITH ('connector' = 'files', 'path' = …)",
}
