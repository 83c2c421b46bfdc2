"""Expressions: what names, calls, structs and subqueries in them mean."""
