"""FROM: relations, joins, generators, pivots, sessions, and windows of time over a relation."""
