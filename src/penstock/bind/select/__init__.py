"""One SELECT: its list, GROUP BY, aggregates, ORDER BY."""
