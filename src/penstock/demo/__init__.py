"""The demo: the flights that left New York in 2013, replayed as they happened into a folder that a program follows.

| module | what it does |
| --- | --- |
| `dataset` | reads the data |
| `times` | says when things happened |
| `timeline` | puts them in order |
| `replay` | writes them into files |
| `places` | says where the views work |
| `board` | shows the views |
| `landings` | is a query that stands beside the views |
| `gain` | measures what it gains that they work in the process |
| `live` | puts it all together; the program is `flights.sql` |
"""

from __future__ import annotations

from penstock.demo.live import run

__all__ = ["run"]
