"""Tokens a second: how calls are added up."""

import pytest

from benchmarks.llm_threads import Asked, summed


def test_rates_are_of_all_calls_together() -> None:
    short = Asked(100, 10, prompt_s=1, prompt_cpu_s=2, reply_s=1, reply_cpu_s=1)
    long = Asked(900, 90, prompt_s=4, prompt_cpu_s=8, reply_s=4, reply_cpu_s=1.5)

    assert summed([short, long]).rates() == {
        "prompt_per_s": pytest.approx(1000 / 5),
        "prompt_per_cpu_s": pytest.approx(1000 / 10),
        "reply_per_s": pytest.approx(100 / 5),
        "reply_per_cpu_s": pytest.approx(100 / 2.5),
    }
