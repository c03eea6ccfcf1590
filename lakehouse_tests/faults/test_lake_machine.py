"""Random lives of a lakehouse, without Kafka and Spark: the fence, twins, rewrites, expiry, clocks and kills together.

The promise is P1, and P2 with it. `--hypothesis-profile=default` lives other lives; a failure prints its own as code.
"""

import pytest
from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test

from lakehouse_tests.faults.lake_machine import LakeMachine

SHORT, LONG = (6, 20), (600, 40)
LIVES = [
    pytest.param(SHORT, id="short"),
    pytest.param(LONG, id="long", marks=[pytest.mark.soak, pytest.mark.timeout(7200)]),
]


@pytest.mark.kill
@pytest.mark.slow
@pytest.mark.parametrize("lives", LIVES)
def test_books_balance_whatever_happens(lives: tuple[int, int]) -> None:
    examples, steps = lives
    run_state_machine_as_test(LakeMachine, settings=settings(max_examples=examples, stateful_step_count=steps))
