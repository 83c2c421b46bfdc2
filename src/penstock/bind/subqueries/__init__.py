"""Subqueries in expressions: put aside as marks, then joined to the query around them."""
