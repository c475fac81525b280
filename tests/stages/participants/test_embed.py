"""Stage `embed` (Specs 37, 055 and 057)."""

import numpy as np
import pytest

from schemas.errors import LLMTimeoutError, TextTooLongError
from schemas.values.participants import EmbeddedEvidence, ExtractedEvidence, PHQ8Item
from stages.participants.embed import embed_evidence
from stages.ports import Vectors
from tests.fakes.embedder import FakeEmbedder
from tests.stages.at_defaults import settings
from tests.stages.participants.builders import evidence

VECTORS = {"I can't sleep\nup at three": [3, 4, 12], "worn out": [0, 2, 1]}
EVIDENCE = evidence({PHQ8Item.TIRED: ("worn out",), PHQ8Item.SLEEP: ("I can't sleep", "up at three")})


async def embed(
    embedder: FakeEmbedder, said: ExtractedEvidence = EVIDENCE, *, truncate: bool = False, **values: object
) -> tuple[EmbeddedEvidence, Vectors]:
    run = settings(embedding={"dimension": 2} | values, ragq={"long_texts": "truncate" if truncate else "refuse"})
    in_one_call = run.embedding.enable_batch_query_embedding
    return await embed_evidence(said, in_one_call=in_one_call, embedder=embedder, settings=run)


def embedded(calls: int, *items: PHQ8Item, digest: str = "digest of fake") -> EmbeddedEvidence:
    by = {"model": "fake", "model_digest": digest, "dtype": "float32" if digest else ""}
    return EmbeddedEvidence(**by, dimension=2, items=items, embedding_calls=calls)


async def test_batch_called_once_in_the_order_of_the_questionnaire() -> None:
    embedder = FakeEmbedder(VECTORS.__getitem__)

    found, vectors = await embed(embedder)

    assert found == embedded(1, PHQ8Item.SLEEP, PHQ8Item.TIRED)
    assert vectors.tolist() == [[np.float32(0.6), np.float32(0.8)], [0.0, 1.0]]
    assert embedder.calls == [["I can't sleep\nup at three", "worn out"]]


@pytest.mark.parametrize("batch", [True, False])
async def test_no_evidence_embedder_not_called(batch: bool) -> None:
    embedder = FakeEmbedder()

    found, vectors = await embed(embedder, evidence({}), enable_batch_query_embedding=batch)

    assert (found, vectors.shape) == (embedded(0, digest=""), (0, 2))
    assert (embedder.calls, embedder.digests_asked) == ([], 0)


@pytest.mark.parametrize(
    ("quotes", "min_evidence_chars", "is_embedded"),
    [
        (("1234567",), 8, False),
        (("12345678",), 8, True),
        (("       8",), 8, True),  # raw length: blanks count
        (("123", "5678"), 8, True),  # 3 + newline + 4
        (("1",), 0, True),
        ((), 0, False),
    ],
)
async def test_items_with_too_little_evidence_are_left_out(
    quotes: tuple[str, ...], min_evidence_chars: int, is_embedded: bool
) -> None:
    said = evidence({PHQ8Item.SLEEP: quotes})

    found, _ = await embed(FakeEmbedder(), said, min_evidence_chars=min_evidence_chars)

    assert found.items == ((PHQ8Item.SLEEP,) if is_embedded else ())


async def test_typographic_apostrophes_are_straightened_for_the_embedder_alone() -> None:
    embedder, quotes = FakeEmbedder(), ("I can’t sleep", "it isn‘t fair", "“so” they said")
    said = evidence({PHQ8Item.SLEEP: quotes})

    await embed(embedder, said)

    assert embedder.calls == [["I can't sleep\nit isn't fair\n“so” they said"]]
    assert said.quotes[PHQ8Item.SLEEP] == quotes


@pytest.mark.parametrize("batch", [True, False])
async def test_evidence_that_is_longer_than_the_embedder_reads_is_refused_or_cut_on_request(batch: bool) -> None:
    embedder = FakeEmbedder(lambda text: [1.0, 0.0], max_chars=10)

    with pytest.raises(TextTooLongError, match="Text 1 of"):
        await embed(embedder, enable_batch_query_embedding=batch)
    found, _ = await embed(embedder, truncate=True, enable_batch_query_embedding=batch)

    assert (found.cut_texts, found.cut_items) == (1, (PHQ8Item.SLEEP,))


async def test_the_chunks_of_a_transcript_are_embedded_with_straight_apostrophes_and_counted_when_cut() -> None:
    embedder = FakeEmbedder(lambda text: [3.0, 4.0, 12.0], max_chars=10)

    found, vectors = await embed_evidence(
        evidence({PHQ8Item.SLEEP: ("at night",)}),
        chunks=["I can’t", "I can’t sleep at all"],
        in_one_call=True,
        embedder=embedder,
        settings=settings(embedding={"dimension": 2}, ragq={"long_texts": "truncate"}),
    )

    assert embedder.calls == [["I can't", "I can't sleep at all", "at night"]]
    cut = {"cut_texts": 1, "cut_chunks": (1,), "chunk_vectors": 2}
    assert found == embedded(1, PHQ8Item.SLEEP).model_copy(update=cut)
    assert vectors.tolist() == [[np.float32(0.6), np.float32(0.8)]] * 3


async def test_timeout_surfaces_as_llm_timeout_error_with_the_seconds() -> None:
    with pytest.raises(LLMTimeoutError, match=r"^LLM request timed out after 300s$"):
        await embed(FakeEmbedder(delay_s=301))
