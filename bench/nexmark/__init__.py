"""NEXMark: auctions, bids and persons, and 23 queries over them, on Penstock and beside it.

generate.py   events, the same for the same seed      files.py     the events as Parquet, JSON and CSV, a file a step
queries/      q0 … q22 as SQL; queries/<system>/ has those that another system words differently
queries.py    tables, views, and what of an answer is determined
answers.py    an answer as a checksum, the same on every system
"""
