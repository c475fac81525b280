"""Several corpora, some of their works, and a document in another language: from the import to the ranked chunks."""

from pathlib import Path
from typing import Any

from tests.acceptance.harness import Installation

TEA = "---\ntitle: Tea\nauthor: A. Leaf\nyear: 2019\n---\n# Tea\n\n{}\n"
STONE = "---\ntitle: Bridges\nauthor: B. Stone\nyear: 1987\n---\n# Bridges\n\n{}\n"
GERMAN = """<!DOCTYPE html><html><head><title>Tee</title></head><body><h1>Tee</h1><p>Die Blätter werden im Frühjahr
gepflückt und dann getrocknet. Der Händler verkauft sie danach auf den Märkten der Städte.</p></body></html>"""

LEAVES = "Black tea turns dark because the leaves oxidise. Green leaves are steamed, so that they stay green."
ARCHES = "A stone arch carries its load by pressure. Leaves in the gutter of a bridge turn dark and wet."


def asked(installation: Installation, *options: str) -> Any:
    """What is stored for a question after its chunks are ranked."""
    until = ("--no-expand", "--until", "rerank", "--json")
    submitted = installation.ragq("submit", "--query", "Why do leaves turn dark?", *options, *until).json
    assert installation.wait_for(submitted["run_id"]) == {"succeeded": 1}
    newest, *_ = installation.ragq("query", "list", "--limit", "1", "--json").json
    return installation.ragq("query", "show", str(newest["id"]), "--json").json


def test_two_corpora_give_the_scores_of_one_with_all_works(fresh: Installation, tmp_path: Path) -> None:
    (tmp_path / "tea.md").write_text(TEA.format(LEAVES))
    (tmp_path / "stone.md").write_text(STONE.format(ARCHES))
    (tmp_path / "tee.html").write_text(GERMAN)
    tea, stone = str(tmp_path / "tea.md"), str(tmp_path / "stone.md")
    fresh.start_worker()
    for corpus, files in (("shelf", [tea]), ("archive", [stone]), ("all", [tea, stone])):
        fresh.wait_for(fresh.ragq("import", "works", *files, "--corpus", corpus, "--json").json["run_id"])
    document = fresh.ragq("import", "works", str(tmp_path / "tee.html"), "--corpus", "deutsch", "--json").json
    assert document["language"] is None
    assert fresh.wait_for(int(document["documents"]["run"][1:])) == {"succeeded": 1}

    both, one = asked(fresh, "--corpus", "shelf", "--corpus", "archive"), asked(fresh, "--corpus", "all")
    scores = [[hit["fused_score"] for hit in of["stages"]["retrieve"]["fused"]] for of in (both, one)]
    assert (scores[0], len(scores[0])) == (scores[1], 2)
    assert len(both["stages"]["retrieve"]["corpus_ids"]) == 2

    some = asked(fresh, "--corpus", "shelf", "--corpus", "archive", "--where", "year<2000")
    (found,) = some["stages"]["rerank"]["chunks"]
    assert "stone arch" in found["content"]

    german = fresh.ragq("corpus", "show", "deutsch", "--json").json
    assert (german["language"], german["full_text"]) == ("german", "german")
    found_by = "SELECT count(*) FROM chunks WHERE content_tsvector @@ websearch_to_tsquery('german', 'Markt Stadt')"
    assert fresh.value(found_by) == 1
    refused = fresh.ragq("submit", "--query", "Warum?", "--corpus", "shelf", "--corpus", "deutsch")
    assert (refused.exit_code, "full text: english and german" in refused.stderr) == (1, True)
