"""Decision support: 22 views over the tables of TPC-H's generator, queries of our own in the manner of that suite.

tables.sql    the tables as a program      data.py      rows of the generator, and what a step replaces
views/        one query a file             judging.py   contents beside DuckDB's answers
figure.py     the figure
"""
