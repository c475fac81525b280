"""No run shows a participant of its own split as a reference: through the command line, on real workers."""

from collections.abc import Iterator

import pytest

from tests.acceptance.conftest import Install
from tests.acceptance.harness import Finished, Installation
from tests.acceptance.small_data_set import TEST, TRAIN

PAPER = "huggingface_all_minilm_l6_v2_paper_train"
AVEC = "huggingface_all_minilm_l6_v2_avec_train"
ON_AVEC = ("--set", f"EMBEDDING_EMBEDDINGS_FILE={AVEC}")
SUBMIT = ("submit", "--split", "paper-test", "--few-shot-only")
WITHOUT_VALIDATION = ("--set", "EMBEDDING_ENABLE_REFERENCE_VALIDATION=false")

REFERENCES = """
SELECT DISTINCT (r.reference ->> 'participant_id')::integer AS participant_id
FROM job AS j JOIN current_attempt AS a ON a.job_id = j.id AND a.stage = 'retrieve',
     jsonb_each(a.output -> 'items') AS i, jsonb_array_elements(i.value) AS r (reference)
WHERE j.run_id = $1
ORDER BY participant_id
"""


@pytest.fixture(scope="module")
def both_indexes(install: Install, indexed_template: str) -> Iterator[Installation]:
    """An installation that built the index of paper-train, and then that of avec-train."""
    with install(indexed_template) as installation:
        installation.start_worker()
        built = installation.ragq("index", "references", "--split", "avec-train")
        assert built.exit_code == 0, built.stderr
        yield installation


def refused(done: Finished) -> str:
    """The message of a refused command, which stores and prints nothing."""
    assert (done.exit_code, done.stdout, "Traceback" in done.stderr) == (1, "", False), done.stderr
    return done.stderr


def referenced(installation: Installation, run_id: int) -> list[int]:
    """The participants whose chunks were retrieved for any job of a run."""
    return [row["participant_id"] for row in installation.rows(REFERENCES, run_id)]


def test_the_index_of_another_split_replaces_nothing(both_indexes: Installation) -> None:
    listed = both_indexes.ragq("index", "list", "--json").json

    assert [(index["name"], index["split"], index["participants"]) for index in listed] == [
        (AVEC, "train", 6),
        (PAPER, "paper-train", 3),
    ]


def test_after_an_index_of_avec_train_a_run_has_references_of_paper_train_alone(both_indexes: Installation) -> None:
    run_id = both_indexes.submit("--split", "paper-test", "--few-shot-only", *WITHOUT_VALIDATION)

    assert both_indexes.wait_for(run_id) == {"succeeded": 3}
    assert referenced(both_indexes, run_id) == list(TRAIN)
