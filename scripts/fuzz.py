"""Run the random tests with new seeds until the time is up: fuzz.py --minutes 10 [pytest arguments].

Each round prints its seed; `pytest --hypothesis-seed=SEED` repeats it. The first failing round ends the run.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PATTERNS = ("oracle_*.py", "test_oracle_*.py", "test_differential_*.py")


def random_tests() -> list[str]:
    """The test files that make up their own programs and changes."""
    return sorted({str(path) for pattern in PATTERNS for path in (ROOT / "tests").rglob(pattern)})


def rounds(minutes: float, arguments: list[str]) -> int:
    """Repeat the tests until the time is up; the exit code of the first failing round, else 0."""
    files = random_tests()
    if not files:
        sys.stderr.write("fuzz: there are no random tests\n")
        return 1
    end, done = time.monotonic() + minutes * 60, 0
    environment = os.environ | {"HYPOTHESIS_PROFILE": "fuzz"}
    while time.monotonic() < end:
        seed = random.SystemRandom().randrange(2**32)
        sys.stderr.write(f"fuzz: round {done + 1}, seed {seed}\n")
        command = [sys.executable, "-m", "pytest", f"--hypothesis-seed={seed}", "-x", *arguments, *files]
        code = subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode  # noqa: S603
        if code:
            sys.stderr.write(f"fuzz: failed; repeat it with --hypothesis-seed={seed}\n")
            return code
        done += 1
    sys.stderr.write(f"fuzz: {done} rounds, no failure\n")
    return 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=5)
    known, rest = parser.parse_known_args()
    sys.exit(rounds(known.minutes, rest))
