"""All that the backends remember of operators and contents, for a snapshot: classes, functions, methods, by name.

    CLASSES      those that remember something, beside dataclasses and enumerations
    FUNCTIONS    those that make rows on the executors again
    METHODS      those that are remembered with their owner

What is none of these, and no plain data, is not remembered.
"""

from __future__ import annotations

from penstock.backends.api import Content, Runner, Stored
from penstock.backends.native.collecting import Collector
from penstock.backends.native.operators.by_value import ByValue
from penstock.backends.native.operators.touched import Keys
from penstock.backends.native.trace import Trace
from penstock.backends.spark import remembered

CLASSES = (Runner, Trace, Stored, Content, Collector, Keys, ByValue, *remembered.CLASSES)
FUNCTIONS = remembered.FUNCTIONS
METHODS = remembered.METHODS
reduced = remembered.reduced

__all__ = ["CLASSES", "FUNCTIONS", "METHODS", "reduced"]
