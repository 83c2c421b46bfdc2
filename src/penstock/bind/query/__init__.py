"""Queries: one SELECT, set operations, WITH; and those that Spark recomputes whole."""
