"""The demo: the flights that left New York in 2013, replayed as they happened into a folder that a program follows.

`dataset` reads the data, `times` says when things happened, `timeline` orders them, `replay` writes them into files,
`board` shows the views, and `run` puts them together. The program is `flights.sql`.
"""

from __future__ import annotations

from penstock.demo.live import run

__all__ = ["run"]
