"""The evaluation of the API benchmark's measurements."""

import pytest

from benchmarks.api import Loaded, spread, wrong
from benchmarks.api_users import Met


def loaded(*, stored: int = 2, flaws: int = 0) -> Loaded:
    return Loaded(
        met=Met(questions=[], runs=[], keys={"a": 1, "b": 2}),
        wall_s=1.0,
        api_cpu_s=0.5,
        client_cpu_s=0.5,
        rss_before_mb=90.0,
        rss_peak_mb=95.0,
        stored=stored,
        attempts=3,
        flaws=flaws,
    )


def test_one_question_per_key_without_flaws_passes() -> None:
    assert wrong(loaded()) == ""


@pytest.mark.parametrize("stored", [1, 3], ids=["lost", "doubled"])
def test_another_number_of_questions_than_keys_fails(stored: int) -> None:
    assert wrong(loaded(stored=stored)) == f"2 keys were sent and {stored} questions are stored."


def test_a_flaw_fails() -> None:
    assert wrong(loaded(flaws=1)) == "The audit found 1 flaws."


def test_spread_of_the_numbers_to_100() -> None:
    assert spread([float(number) for number in range(101)]) == (50, 95, 99)


def test_spread_of_one_number_is_that_number() -> None:
    assert spread([7.0]) == (7.0, 7.0, 7.0)
