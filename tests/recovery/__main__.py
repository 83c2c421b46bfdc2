"""`python -m tests.recovery --minutes 20`: pipelines to which anything happens, until the time is up or one is wrong.

What fails is made small and printed as the calls that lead to it; `--seed` plays the same again.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
import traceback

from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.stateful import run_state_machine_as_test
from tests.recovery.machine import Recovering, RecoveringApart

from penstock.catalog.settings import ENGINES, NATIVE

_EXAMPLES = 5


def main(arguments: list[str] | None = None) -> int:
    """Play; 1 if anything was found."""
    parser = argparse.ArgumentParser(prog="python -m tests.recovery", description=__doc__)
    parser.add_argument("--minutes", type=float, default=20)
    parser.add_argument("--seed", type=int, help="the first seed; each further round adds one")
    parser.add_argument("--rules", type=int, default=30, help="what happens to a pipeline, at most")
    parser.add_argument("--apart", action="store_true", help="each pipeline in a process of its own, which is killed")
    parser.add_argument("--engine", choices=ENGINES, default=NATIVE, help="where operators work")
    parser.add_argument("--whole", action="store_true", help="do not make small what fails, which takes long")
    options = parser.parse_args(arguments)
    machine = RecoveringApart if options.apart else Recovering
    phases = (Phase.generate,) if options.whole else (Phase.generate, Phase.shrink)
    end = time.monotonic() + 60 * options.minutes
    first = options.seed if options.seed is not None else random.SystemRandom().randrange(2**31)
    number, pipelines = first, 0
    while time.monotonic() < end:
        print(f"seed {number}", file=sys.stderr)  # noqa: T201 - what is to be said again
        chosen = settings(
            max_examples=_EXAMPLES,
            stateful_step_count=options.rules,
            deadline=None,
            database=None,
            phases=phases,
            suppress_health_check=list(HealthCheck),
        )
        try:
            run_state_machine_as_test(
                seed(number)(type("Round", (machine,), {"engine": options.engine})), settings=chosen
            )
        except Exception:  # noqa: BLE001 - whatever it is, it is a finding
            traceback.print_exc()
            return 1
        number, pipelines = number + 1, pipelines + _EXAMPLES
    print(f"seeds {first} to {number - 1}: {pipelines} pipelines, nothing found", file=sys.stderr)  # noqa: T201
    return 0


if __name__ == "__main__":
    sys.exit(main())
