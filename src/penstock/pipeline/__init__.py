"""The running pipeline: statements, transactions, queries, and the loop that follows sources."""
