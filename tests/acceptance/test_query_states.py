"""The status of a question, its failures, and what runs again."""

from pathlib import Path
from typing import Any

from tests.acceptance.harness import Installation
from tests.acceptance.shelf import QUESTION, SHORT

UNFIT = "tests.acceptance.unfit_for_questions"


def ask(installation: Installation, *options: str, until: str = "validate") -> int:
    """Ask the question of the shelf as it is. The run's number."""
    return installation.submit(
        *("--query", QUESTION, "--corpus", "shelf", "--no-expand", "--until", until), *SHORT, *options
    )


def the_query(installation: Installation) -> dict[str, Any]:
    """The only question, in a line."""
    (query,) = installation.ragq("query", "list", "--json").json
    return dict(query)


def sources(installation: Installation) -> set[str]:
    """The titles of the sources in the prompt."""
    shown = installation.ragq("query", "show", str(the_query(installation)["id"]), "--json").json
    return {source["title"] for source in shown["stages"]["augment"]["sources"]}


def test_a_question_has_each_status_until_it_is_ready(shelved: Installation) -> None:
    run_id = ask(shelved, until="embed")
    seen = [the_query(shelved)["status"]]
    shelved.start_worker()
    for until in ("embed", "validate", "consolidate"):
        if until != "embed":
            shelved.ragq("query", "run", str(the_query(shelved)["id"]), "--until", until)
        assert shelved.wait_for(run_id) == {"succeeded": 1}
        seen.append(the_query(shelved)["status"])

    assert seen == ["needs_embeddings", "needs_retrieval", "needs_consolidation", "ready"]


def test_a_failed_embedding_is_shown_and_a_retry_repairs_it(shelved: Installation) -> None:
    unfit = shelved.start_worker(include=UNFIT)
    run_id = ask(shelved)
    assert shelved.wait_for(run_id) == {"failed": 1}
    assert the_query(shelved)["status"] == "vec_err"
    unfit.kill()
    shelved.start_worker()

    assert shelved.ragq("retry", f"r{run_id}").exit_code == 0

    assert shelved.wait_for(run_id) == {"succeeded": 1}
    assert the_query(shelved)["status"] == "needs_consolidation"


def test_searching_again_replaces_the_contexts_and_keeps_the_answers(shelved: Installation, tmp_path: Path) -> None:
    (tmp_path / "answer.txt").write_text("It is the oxygen [S1].")
    (tmp_path / "dark.md").write_text("# Dark tea\n\nBlack tea turns dark because oxygen darkens its leaves.\n")
    shelved.start_worker()
    run_id = ask(shelved, "--response", str(tmp_path / "answer.txt"), until="generate")
    assert shelved.wait_for(run_id) == {"succeeded": 1}
    assert "Dark tea" not in sources(shelved)
    assert shelved.ragq("import", "works", str(tmp_path / "dark.md"), "--corpus", "shelf", "--wait").exit_code == 0

    assert shelved.ragq("query", "run", str(the_query(shelved)["id"]), "--from", "retrieve").exit_code == 0

    assert shelved.wait_for(run_id) == {"succeeded": 1}
    assert (the_query(shelved)["results"], the_query(shelved)["status"]) == (2, "ready")
    assert "Dark tea" in sources(shelved)
