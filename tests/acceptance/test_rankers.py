"""Rankers with a model."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.conftest import Install
from tests.acceptance.harness import Installation
from tests.acceptance.shelf import write_shelf
from tests.adapters.tiny_cross_encoder import tiny_bge_reranker


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The works as files."""
    return write_shelf(tmp_path_factory.mktemp("works") / "shelf")


@pytest.fixture(scope="module")
def stack(install: Install, migrated_template: str, shelf: Path) -> Iterator[Installation]:
    """An installation with one worker and a corpus."""
    with install(migrated_template) as installation:
        installation.start_worker()
        done = installation.ragq("import", "works", str(shelf), "--corpus", "shelf", "--wait")
        assert done.exit_code == 0, done.stderr
        yield installation


LEAVES = "After picking the leaves are rolled and left in moist air until enzymes in them have turned {} dark."


def test_original_ranks_by_a_model_of_the_architecture_of_bge_reranker(stack: Installation, tmp_path: Path) -> None:
    model = tiny_bge_reranker(tmp_path / "model")
    sections = [f"## Part {name}\n\n" + " ".join([LEAVES.format(name)] * 10) for name in ("one", "two", "three")]
    (tmp_path / "works").mkdir()
    (tmp_path / "works" / "leaves.md").write_text("# Leaves\n\n" + "\n\n".join(sections) + "\n")
    imported = stack.ragq("import", "works", str(tmp_path / "works"), "--corpus", "leaves", "--wait")
    assert imported.exit_code == 0, imported.stderr

    run_id = stack.submit(
        *("--query", "leaves enzymes dark", "--corpus", "leaves", "--no-expand", "--until", "augment"),
        *("--preset", "Original", "--set", f"reranking.model={model}"),
    )

    assert stack.wait_for(run_id) == {"succeeded": 1}
    (query,) = [line for line in stack.ragq("query", "list", "--json").json if line["run_id"] == run_id]
    stages = stack.ragq("query", "show", str(query["id"]), "--json").json["stages"]
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
