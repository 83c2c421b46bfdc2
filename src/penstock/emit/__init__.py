"""How and when the changes of a view are shown."""
