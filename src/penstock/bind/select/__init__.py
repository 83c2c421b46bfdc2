"""The clauses of a SELECT: its list, GROUP BY, aggregates, ORDER BY."""
