"""`penstock sql`: the interactive shell."""
