"""`ragq sweep`, and `ragq diff` of several runs."""

import json
from collections.abc import Iterator

import pytest

from store.database import Connection
from store.runs import forks
from tests.cli.conftest import Ragq, Stored
from tests.stages.reports.builders import labels, scores
from tests.store.forkable import finish, forkable_run
from tests.store.scored import import_labels

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


def test_a_sweep_is_printed_as_json(ragq: Ragq, swept: None) -> None:
    found = json.loads(ragq("sweep", "r1", *GRID, "--metric", "prediction_coverage", "--json").stdout)

    assert (found["parent"], found["stage"], list(found["points"])) == ("r1", "score", ["r2", "r3"])
    # Every run scored every item: neither fork is named as the better one.
    assert found["best"][0] | {"run_id": "r1", "value": 1.0, "as_good": ["r2", "r3"]} == found["best"][0]
    assert [run["run_id"] for run in found["results"][0]["compared"]] == ["r2", "r3"]


def test_what_cannot_be_swept_is_refused(ragq: Ragq, stored: Stored) -> None:
    stored(a_parent)

    refused = ragq("sweep", "r1", "--from", "score", "--grid", "RAGQ_SCORE_TEXT_CHARS")

    assert refused.exit_code != 0
    assert "is not of the form NAME=VALUE,VALUE" in refused.stderr + str(refused.exception)
