"""Sources that tables are fed from, and outputs that views are written to."""
