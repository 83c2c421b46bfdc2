"""From what came in for a table to its change: operations folded by key, late rows set aside, rows held back."""
