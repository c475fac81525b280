"""A batch of chunks as vectors."""

import numpy as np
import pytest

from schemas.values.documents import CorpusChunk
from stages.corpora.works import embed_chunks
from tests.fakes.embedder import FakeEmbedder


def chunk(number: int, breadcrumbs: str | None) -> CorpusChunk:
    return CorpusChunk(
        id=number,
        work_id=1,
        parent_id=None,
        level="H1-chunk",
        content=f"Text {number}.",
        heading_breadcrumbs=breadcrumbs,
        start_line=1,
        end_line=1,
    )


@pytest.mark.parametrize(
    ("embeds_headings", "texts"), [(True, ["Tea > Leaves\nText 1.", "Text 2."]), (False, ["Text 1.", "Text 2."])]
)
async def test_all_chunks_go_in_one_call_under_their_headings_or_alone(embeds_headings: bool, texts: list[str]) -> None:
    embedder = FakeEmbedder()

    vectors, cut, _ = await embed_chunks(
        [chunk(1, "Tea > Leaves"), chunk(2, None)],
        embedder=embedder,
        dimension=8,
        embeds_headings=embeds_headings,
        timeout_s=30,
    )

    assert embedder.calls == [texts]
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1)
    assert cut == ()


async def test_chunks_that_are_longer_than_the_embedder_reads_are_cut_and_named() -> None:
    embedded = await embed_chunks(
        [chunk(1, None), chunk(2, "Tea > Leaves")],
        embedder=FakeEmbedder(max_chars=10),
        dimension=8,
        embeds_headings=True,
        timeout_s=30,
    )

    assert (len(embedded.vectors), embedded.cut) == (2, (1,))
