"""Whatever happens to a pipeline with a directory, and in whatever order: its views are what their queries answer.

`make fuzz-recovery MINUTES=20` goes on with it.
"""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, Phase, settings
from tests.recovery.machine import Recovering, RecoveringApart, RecoveringOnSpark

_ALWAYS = {"deadline": None, "derandomize": True, "suppress_health_check": list(HealthCheck), "database": None}


class TestAnythingHappens(Recovering.TestCase):
    settings = settings(max_examples=2, stateful_step_count=10, phases=[Phase.generate], **_ALWAYS)


@pytest.mark.extended
class TestMoreHappens(Recovering.TestCase):
    settings = settings(max_examples=15, stateful_step_count=30, phases=[Phase.generate], **_ALWAYS)


@pytest.mark.extended
class TestAProcessIsReallyKilled(RecoveringApart.TestCase):
    settings = settings(max_examples=3, stateful_step_count=20, phases=[Phase.generate], **_ALWAYS)


@pytest.mark.extended
@pytest.mark.usefixtures("interpreting")
class TestAnythingHappensToRowsOnExecutors(RecoveringOnSpark.TestCase):
    settings = settings(max_examples=2, stateful_step_count=12, phases=[Phase.generate], **_ALWAYS)
