"""The relational algebra between binding and running."""
