"""Rankers with a model: by vectors of tokens, and by a cross-encoder."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.conftest import Install
from tests.acceptance.harness import Installation
from tests.acceptance.shelf import QUESTION, SHORT, TEA, write_shelf
from tests.adapters.tiny_cross_encoder import tiny_bge_reranker, tiny_cross_encoder

#: Whether each chunk that can be found has vectors of tokens, and nothing else has.
ALL_HAVE_TOKENS = """
SELECT (SELECT array_agg(id ORDER BY id) FROM chunks WHERE vector_status = 'vec')
     = (SELECT array_agg(chunk_id ORDER BY chunk_id) FROM chunk_token_vectors)
"""


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The works as files."""
    return write_shelf(tmp_path_factory.mktemp("works") / "shelf")


@pytest.fixture(scope="module")
def tokens(install: Install, migrated_template: str, shelf: Path) -> Iterator[Installation]:
    """An installation with one worker and a corpus that keeps vectors of tokens."""
    with install(migrated_template) as installation:
        installation.start_worker()
        done = installation.ragq("import", "works", str(shelf), "--corpus", "shelf", "--keep-token-vectors", "--wait")
        assert done.exit_code == 0, done.stderr
        yield installation


def reranked(installation: Installation, *options: str) -> tuple[dict[str, Any], int]:
    """What stage `rerank` stored about the question, and the number of its query."""
    run_id = installation.submit(
        *("--query", QUESTION, "--corpus", "shelf", "--no-expand", "--until", "rerank"), *SHORT, *options
    )
    assert installation.wait_for(run_id) == {"succeeded": 1}
    (query,) = [line for line in installation.ragq("query", "list", "--json").json if line["run_id"] == run_id]
    shown = installation.ragq("query", "show", str(query["id"]), "--json").json
    return shown["stages"]["rerank"], query["id"]


def test_late_interaction_ranks_by_the_vectors_of_tokens(tokens: Installation) -> None:
    assert tokens.value(ALL_HAVE_TOKENS)
    (embedded,) = tokens.inspect(tokens.value("SELECT id FROM run WHERE kind = 'index'"), "embed")
    stored = tokens.value("SELECT sum(cardinality(vectors)) FROM chunk_token_vectors")

    ranked, query_id = reranked(tokens, "--set", "reranking.ranker=late-interaction")

    assert embedded["output"]["tokens"] == stored > 100
    assert ranked["ranker"] == "late-interaction all-minilm-l6-v2"
    assert ranked["chunks"][0]["heading_breadcrumbs"] == "Tea > Oxidation"
    assert all(-1 <= chunk["rerank_score"] <= 1 for chunk in ranked["chunks"])
    assert "late-interaction all-minilm-l6-v2" in tokens.ragq("query", "show", str(query_id)).stdout


def test_a_cross_encoder_of_the_preset_reads_question_and_passage_together(
    tokens: Installation, tmp_path: Path
) -> None:
    model = tiny_cross_encoder(tmp_path / "model")

    ranked, query_id = reranked(tokens, "--set", "reranking.ranker=cross-encoder", "--set", f"reranking.model={model}")

    assert ranked["ranker"] == f"cross-encoder {model}"
    assert len({chunk["rerank_score"] for chunk in ranked["chunks"]}) > 1
    assert "cross-encoder" in tokens.ragq("query", "show", str(query_id)).stdout


LEAVES = "After picking the leaves are rolled and left in moist air until enzymes in them have turned {} dark."


def test_original_ranks_by_a_model_of_the_architecture_of_bge_reranker(tokens: Installation, tmp_path: Path) -> None:
    model = tiny_bge_reranker(tmp_path / "model")
    sections = [f"## Part {name}\n\n" + " ".join([LEAVES.format(name)] * 10) for name in ("one", "two", "three")]
    (tmp_path / "works").mkdir()
    (tmp_path / "works" / "leaves.md").write_text("# Leaves\n\n" + "\n\n".join(sections) + "\n")
    imported = tokens.ragq(
        "import", "works", str(tmp_path / "works"), "--corpus", "leaves", "--keep-token-vectors", "--wait"
    )
    assert imported.exit_code == 0, imported.stderr

    run_id = tokens.submit(
        *("--query", "leaves enzymes dark", "--corpus", "leaves", "--no-expand", "--until", "augment"),
        *("--preset", "Original", "--set", f"reranking.model={model}"),
    )

    assert tokens.wait_for(run_id) == {"succeeded": 1}
    (query,) = [line for line in tokens.ragq("query", "list", "--json").json if line["run_id"] == run_id]
    stages = tokens.ragq("query", "show", str(query["id"]), "--json").json["stages"]
    ranked = stages["rerank"]
    assert ranked["ranker"] == f"cross-encoder {model}"
    assert (stages["retrieve"]["fusion"], stages["retrieve"]["lexical"]) == ("rrf", "websearch")
    passages = {chunk["enriched_content"]: chunk["rerank_score"] for chunk in ranked["chunks"]}
    assert len(passages) == 3
    assert passages == pytest.approx(dict(zip(passages, logits(model, "leaves enzymes dark", passages), strict=True)))
    assert ranked["ranking"] == [chunk["chunk_id"] for chunk in sorted(ranked["chunks"], key=by_score)]
    assert len(stages["augment"]["sources"]) >= 1


def by_score(chunk: dict[str, Any]) -> float:
    """Best first."""
    return -float(chunk["final_score"])


def logits(model: Path, question: str, passages: Iterable[str]) -> list[float]:
    """What transformers computes for the pairs, one by one."""
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    loaded, tokenizer = (kind.from_pretrained(model) for kind in (AutoModelForSequenceClassification, AutoTokenizer))
    with torch.inference_mode():
        return [
            float(loaded.eval()(**tokenizer(question, text, return_tensors="pt", truncation=True)).logits)
            for text in passages
        ]


def test_late_interaction_is_a_leg_of_the_fusion_where_the_preset_gives_it_weight(tokens: Installation) -> None:
    _, query_id = reranked(tokens, "--set", "retrieval.late_weight=0.25", "--set", "reranking.ranker=none")

    stages = tokens.ragq("query", "show", str(query_id), "--json").json["stages"]
    (late,) = [found for found in stages["retrieve"]["lists"] if found["leg"] == "late_interaction"]
    others = {hit["chunk_id"] for found in stages["retrieve"]["lists"] for hit in found["hits"]}
    assert {hit["chunk_id"] for hit in late["hits"]} == others
    assert [hit["score"] for hit in late["hits"]] == sorted((hit["score"] for hit in late["hits"]), reverse=True)
    assert {chunk["late_rank"] for chunk in stages["rerank"]["chunks"]} == set(range(1, len(others) + 1))
    assert stages["rerank"]["ranking"] == [hit["chunk_id"] for hit in stages["retrieve"]["fused"]]


def test_a_work_that_is_imported_again_has_vectors_of_its_new_tokens(tokens: Installation, shelf: Path) -> None:
    before = tokens.value("SELECT sum(cardinality(vectors)) FROM chunk_token_vectors")
    (shelf / "tea.md").write_text(TEA.partition("## Steeping")[0])

    done = tokens.ragq("import", "works", str(shelf), "--corpus", "shelf", "--wait")

    assert done.exit_code == 0, done.stderr
    assert tokens.value(ALL_HAVE_TOKENS)
    assert tokens.value("SELECT sum(cardinality(vectors)) FROM chunk_token_vectors") < before
