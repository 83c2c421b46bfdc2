"""The formats: records cut from a stream, and made rows of a table.

api       what a format does
records   reading whole records of bytes, with the line ends that there are
rows      what json and csv have in common: rows of text, envelopes, rejected records
json      one object a line: a row, or {"insert" | "delete" | "update": row}
csv       fields by RFC 4180, under a header or not; an optional column __op ('+', '-', '~')
parquet   columns by name; an optional column __op
"""
