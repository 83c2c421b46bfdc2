"""Answers that would depend on the order of the rows, made independent of it."""
