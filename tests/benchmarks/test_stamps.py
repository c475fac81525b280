"""Hops are read from stamps."""

from pathlib import Path

import pytest

from benchmarks import stamps


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file that stamps go to; a millisecond passes between two stamps."""
    monkeypatch.setenv(stamps.VARIABLE, str(tmp_path / "stamps"))
    clock = iter(range(0, 1_000_000_000, 1_000_000))
    monkeypatch.setattr("time.monotonic_ns", lambda: next(clock))
    return tmp_path / "stamps"


def test_a_hop_lasts_from_one_stage_of_a_job_to_the_next(path: Path) -> None:
    for job, position in [(1, 0), (2, 0), (1, 1), (1, 2), (2, 1)]:
        stamps.stamp(job, position)

    assert stamps.hops_ms(path) == [2.0, 1.0, 3.0]


def test_a_stage_that_ran_twice_counts_from_its_first_time(path: Path) -> None:
    for position in (0, 1, 1, 2):
        stamps.stamp(7, position)

    assert stamps.hops_ms(path) == [1.0, 2.0]


def test_the_stamps_of_the_warm_up_are_skipped(path: Path) -> None:
    assert stamps.count(path) == 0
    for job in (1, 2):
        for position in (0, 1):
            stamps.stamp(job, position)

    assert stamps.count(path) == 4
    assert stamps.hops_ms(path, after=2) == [1.0]
