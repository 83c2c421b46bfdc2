"""Tests of two sizes: a few examples by default, and all of them when the extended tests run."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, TypeVar

import pytest
from hypothesis import settings

# `make test-extended` says "extended".
TIER = "PENSTOCK_TIER"
EXTENDED = os.environ.get(TIER) == "extended"

Test = TypeVar("Test", bound=Callable[..., Any])


def either(few: int, many: int) -> int:
    """A number of steps or seeds: of a test that is marked `both`, which the extended tests run again."""
    return many if EXTENDED else few


def examples(few: int, many: int) -> Callable[[Test], Test]:
    """So many examples of a property: `few` by default, `many` when the extended tests run it again."""

    def decorated(test: Test) -> Test:
        return pytest.mark.both(settings(max_examples=either(few, many), deadline=None)(test))

    return decorated
