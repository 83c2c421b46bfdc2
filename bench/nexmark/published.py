"""Figures that others have measured, for scale: never part of a comparison that claims to be fair."""

from __future__ import annotations

from collections.abc import Mapping

# Feldera's engine with circuits written by hand in Rust, which makes its events as it goes: no files are read.
FELDERA_SAYS = (
    "thousand events/s of Feldera's engine, measured by us on two such cores, apart from these runs: circuits by hand "
    "in Rust, 5 M events, made as it goes, so that no file is read. For scale, and never a fair comparison"
)
FELDERA: Mapping[str, int] = {
    "q0": 1370,
    "q1": 1070,
    "q2": 1460,
    "q3": 1330,
    "q4": 810,
    "q5": 1000,
    "q6": 710,
    "q7": 850,
    "q8": 1080,
    "q9": 317,
    "q12": 1040,
    "q14": 1080,
    "q15": 509,
    "q16": 280,
    "q17": 437,
    "q18": 488,
    "q19": 487,
    "q20": 584,
    "q21": 1000,
    "q22": 920,
}
