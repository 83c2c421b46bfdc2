"""Programs and their statements: declarations, changes of tables, views, recursion."""
