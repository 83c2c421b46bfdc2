"""OVER, ranks that are a Top-K, and group functions of time."""
