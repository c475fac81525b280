"""Tokens counted by a tokenizer alone: as the embedder counts them, and texts split between them."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.cutting import TokenMeasure, measure_of
from adapters.weights import PACKAGED_EMBEDDER, unchecked_embedder_folder
from schemas.statuses import VectorStatus
from stages.corpora.blocks import read_markdown
from stages.corpora.cut import ChunkSize, cut_work

TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\n\0")) | st.lists(
    st.sampled_from(["leaf", "antidisestablishmentarianism", "茶", "https://example.org/a-b_c?d=e", "😀", "\u0301"])
).map(" ".join)


@pytest.fixture(scope="module")
def measure() -> TokenMeasure:
    found = measure_of("huggingface", PACKAGED_EMBEDDER, embeds_headings=True)
    assert found is not None
    return found


@given(TEXTS.map(lambda text: " ".join(text.split())), st.integers(1, 20))
def test_pieces_are_short_enough_and_lose_nothing(measure: TokenMeasure, text: str, most: int) -> None:
    pieces = list(measure.pieces(text, most))

    assert "".join("".join(pieces).split()) == "".join(text.split())
    assert all(measure.length(piece) <= most or len(piece) == 1 for piece in pieces)


@given(st.integers(24, 90), st.lists(TEXTS, max_size=20))
def test_no_chunk_is_longer_than_is_asked_for(measure: TokenMeasure, most: int, lines: list[str]) -> None:
    document = read_markdown("\n".join(["# Tea", *lines]))

    for chunk in cut_work(document, title="Tea", size=ChunkSize.of_tokens(most), measure=measure):
        around = measure.around(chunk.heading_breadcrumbs)
        if chunk.vector_status is VectorStatus.TO_VEC and around < most / 2:
            assert around + measure.length(chunk.content) <= most


def test_a_folder_says_how_many_tokens_its_model_reads(tmp_path: Path) -> None:
    tokenizer = (unchecked_embedder_folder() / "tokenizer.json").read_bytes()
    for absent in (str(tmp_path), "nobody/no-such-model"):
        assert measure_of("huggingface", absent, embeds_headings=True) is None
    (tmp_path / "tokenizer.json").write_bytes(tokenizer)
    found = measure_of("huggingface", str(tmp_path), embeds_headings=True)
    assert found is not None
    assert found.reads is None
    (tmp_path / "config.json").write_text(json.dumps({"max_position_embeddings": 512}))
    assert found.reads == 512
    (tmp_path / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": 300}))
    assert found.reads == 300
