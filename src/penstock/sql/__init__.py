"""Text to statements: the grammar, its dialects, and trees back to Spark SQL."""
