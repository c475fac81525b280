"""No run shows a participant of its own split as a reference: through the command line, on real workers."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.acceptance.conftest import Install
from tests.acceptance.harness import Finished, Installation
from tests.acceptance.small_data_set import TRAIN

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
        installation.do("index", "references", "--split", "avec-train", "--wait")
        yield installation


def refused(done: Finished) -> str:
    """The message of a refused command, which stores and prints nothing."""
    assert (done.exit_code, done.stdout, "Traceback" in done.stderr) == (1, "", False), done.stderr
    return done.stderr


def referenced(installation: Installation, run_id: int) -> list[int]:
    """The participants whose chunks were retrieved for any job of a run."""
    return [row["participant_id"] for row in installation.rows(REFERENCES, run_id)]


def test_after_an_index_of_avec_train_a_run_has_references_of_paper_train_alone(both_indexes: Installation) -> None:
    listed = both_indexes.ragq("index", "list", "--json").json["items"]
    assert [(index["name"], index["split"], index["participants"]) for index in listed] == [
        (AVEC, "train", 6),
        (PAPER, "paper-train", 3),
    ]
    run_id = both_indexes.submit("--split", "paper-test", "--few-shot-only", *WITHOUT_VALIDATION)
    assert both_indexes.wait_for(run_id) == {"succeeded": 3}
    assert referenced(both_indexes, run_id) == list(TRAIN)


def test_an_index_with_people_of_the_split_is_refused_with_who_and_what_to_do(
    both_indexes: Installation, data_directory: Path
) -> None:
    """The limit of a split changes nothing, named participants count too, and zero-shot searches no index."""
    before = both_indexes.value("SELECT count(*) FROM run")

    assert refused(both_indexes.ragq(*SUBMIT, *ON_AVEC)) == (
        f"ragq: 3 of the 6 participants of reference index '{AVEC}' (split {data_directory.name}/avec-train) are in "
        "split 'paper-test': 316, 319, 330. A run needs references of other people: name an index without them with "
        "`--references NAME` (`ragq index list`, `ragq index references --split SPLIT --wait`), or submit with "
        "--zero-shot-only. --allow-overlap runs without their chunks, and every report of the run shows it.\n"
    )
    for who in (
        "--split paper-test --limit 1",
        "--split paper --limit 2",
        "--participants 316",
        "--participants 304,330",
    ):
        refused(both_indexes.ragq("submit", *who.split(), *ON_AVEC))
    everybody = ("submit", "--split", "train", "--few-shot-only")
    message = refused(both_indexes.ragq(*everybody, "--allow-overlap"))
    assert "--allow-overlap" not in refused(both_indexes.ragq(*everybody))
    assert f"3 of the 3 participants of reference index '{PAPER}'" in message
    assert "no reference is left" in message
    assert both_indexes.value("SELECT count(*) FROM run") == before

    assert both_indexes.submit("--split", "paper-train", "--zero-shot-only", "--limit", "1")


def test_an_allowed_overlap_leaves_out_everybody_of_the_split_and_is_shown(both_indexes: Installation) -> None:
    command = (*SUBMIT, *ON_AVEC, *WITHOUT_VALIDATION, "--allow-overlap", "--limit", "1", "--json")
    done = both_indexes.ragq(*command)
    run_id = done.json["run_id"]
    named = both_indexes.submit("--participants", "304", "--few-shot-only", *WITHOUT_VALIDATION, "--allow-overlap")
    assert [both_indexes.wait_for(one) for one in (run_id, named)] == [{"succeeded": 1}] * 2

    assert referenced(both_indexes, run_id) == list(TRAIN)
    assert referenced(both_indexes, named) == [313, 321], "nobody is their own reference"
    asked = both_indexes.ragq("show", f"r{run_id}", "--json").json["run"]["request"]
    assert asked["overlap"] == {"index": AVEC, "participants": [316, 319, 330]}
    assert f"Overlap allowed: 3 participants of reference index '{AVEC}'" in done.stderr
    assert "Overlap allowed: 3 participants" in both_indexes.ragq("show", f"r{run_id}").stdout
    assert both_indexes.ragq(*command).json["run_id"] == run_id
