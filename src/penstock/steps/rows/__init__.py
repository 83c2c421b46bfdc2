"""What comes in, as checked rows of declared types: values, batches, and what was rejected."""
