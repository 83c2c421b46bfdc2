"""The running pipeline: steps, intake, transactions, the input log, events."""
