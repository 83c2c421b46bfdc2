"""Subqueries in expressions: left as marks, then joined to the query around them."""
