"""Whole queries: WITH, set operations, and the way out for what no plan node expresses."""
