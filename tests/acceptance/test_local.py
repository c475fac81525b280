"""Profile `local`: participants are indexed, scored and reported, and no language model is asked."""

from collections.abc import Iterator

import pytest

from schemas.values.participants import PHQ8Item
from tests.acceptance.conftest import Install
from tests.acceptance.harness import Installation
from tests.acceptance.small_data_set import TEST

LOCAL = ("--profile", "local")
SETTINGS = {"QUANTITATIVE_SIMILARITY_THRESHOLD": "0.7", "OLLAMA_PORT": "9"}


@pytest.fixture(scope="module")
def installation(install: Install, indexed_template: str) -> Iterator[Installation]:
    """With an index of profile demo, which has no evidence; no server answers for a language model."""
    with install(indexed_template) as made:
        made.settings = SETTINGS
        made.start_worker()
        yield made


def test_participants_are_scored_by_the_evidence_of_the_index_and_no_language_model(installation: Installation) -> None:
    refused = installation.ragq("submit", "--split", "paper-test", *LOCAL)
    assert refused.exit_code == 1
    assert "RAGQ_SCORER=neighbours: " in refused.stderr
    build = next(part for part in refused.stderr.split("`") if part.startswith("ragq index references"))
    assert installation.ragq(*build.split()[1:]).exit_code == 0

    run_id = installation.submit("--split", "paper-test", *LOCAL, "--until", "score")

    assert installation.wait_for(run_id) == {"succeeded": len(TEST)}
    assert installation.value("SELECT count(*) FROM llm_call") == 0
    for ordinal in range(len(TEST)):
        (scored,) = installation.inspect(run_id, "score", ordinal=ordinal)
        items = scored["output"]["items"]
        assert {item["basis"] for item in items.values()} <= {"neighbours", "median"}
        assert all(0 <= items[item]["score"] <= 3 for item in PHQ8Item)
        assert not any(str(participant) in items[item]["reason"] for participant in TEST for item in PHQ8Item)
    (prompt,) = installation.inspect(run_id, "assemble")
    assert prompt["output"]["messages"]
