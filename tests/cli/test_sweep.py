"""`ragq sweep`, and `ragq diff` of several runs."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from store.database import Connection
from store.runs import forks
from tests.cli.conftest import Ragq
from tests.stages.reports.builders import labels, scores
from tests.store.forkable import finish, forkable_run
from tests.store.scored import import_labels

Stored = Callable[..., Any]
PEOPLE = (316, 319)
GRID = ("--from", "score", "--grid", "RAGQ_SCORE_TEXT_CHARS=10,20")


async def a_parent(connection: Connection) -> None:
    await import_labels(connection, dict.fromkeys(PEOPLE, labels("22222222")))
    await forkable_run(connection, dict.fromkeys(PEOPLE, scores("33333333")))


async def finish_forks(connection: Connection, digits: dict[int, str]) -> None:
    for run_id, scored in digits.items():
        for job in await forks.parent_jobs(connection, run_id):
            await finish(connection, job.id, ("score",), scores(scored))


@pytest.fixture
def swept(ragq: Ragq, stored: Stored) -> Iterator[None]:
    """A run, and two finished forks of it that a sweep finds."""
    stored(a_parent)
    for chars in (10, 20):
        ragq("fork", "r1", "--from", "score", "--set", f"RAGQ_SCORE_TEXT_CHARS={chars}")
    stored(finish_forks, {2: "22222222", 3: "00000000"})
    yield


def test_a_sweep_is_read_from_a_file_and_printed_as_json(ragq: Ragq, swept: None, tmp_path: Path) -> None:
    (tmp_path / "sweep.toml").write_text('from = "score"\n[grid]\nRAGQ_SCORE_TEXT_CHARS = [10, 20]\n')

    found = json.loads(ragq("sweep", "r1", "--file", "sweep.toml", "--metric", "prediction_coverage", "--json").stdout)

    assert (found["parent"], found["stage"], list(found["points"])) == ("r1", "score", ["r2", "r3"])
    # Every run scored every item: neither fork is named as the better one.
    assert found["best"][0] | {"run_id": "r1", "value": 1.0, "as_good": ["r2", "r3"]} == found["best"][0]
    assert [run["run_id"] for run in found["results"][0]["compared"]] == ["r2", "r3"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("r1", "--grid", "A=1"), "Name the first stage"),
        (("r1", "--from", "score"), "A sweep needs a grid"),
        (("j1", *GRID), "`ragq fork` takes a job"),
        (("r1", *GRID, "--select-on", "val"), "--select-on and --report-on go together"),
        (("r1", "--from", "score", "--grid", "RAGQ_SCORE_TEXT_CHARS"), "is not of the form NAME=VALUE,VALUE"),
        (("r1", "--file", "bad.toml"), "may have a text `from` and a table `grid`"),
    ],
)
def test_what_cannot_be_swept_is_refused(
    ragq: Ragq, stored: Stored, tmp_path: Path, arguments: tuple[str, ...], words: str
) -> None:
    stored(a_parent)
    (tmp_path / "bad.toml").write_text("stage = 1\n")

    refused = ragq("sweep", *arguments)

    assert refused.exit_code != 0
    assert words in refused.stderr + str(refused.exception)
