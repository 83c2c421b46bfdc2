"""Plans against texts, both answered by DuckDB: no Spark, so many programs in little time."""

from random import Random

import pytest
from tests.tiers import either

from penstock.testing.fuzz.programs import Size, random_program
from penstock.testing.fuzz.reading import Reading

PROGRAMS = either(15, 60)


@pytest.mark.both
def test_a_plan_answers_what_its_text_answers():
    reading = Reading()
    for seed in range(PROGRAMS):
        program = random_program(Random(seed), Size(), shared=True)
        finding = reading.judge(program, Random(seed))
        assert finding is None, f"seed {seed}: {finding.detail}\n{program.sql}"
    assert reading.compared > PROGRAMS
