"""A chunk on its way through the stage `rerank`."""

from typing import NamedTuple

from schemas.values.corpora import CorpusChunk
from schemas.values.queries import FusedHit


class RankingCandidate(NamedTuple):
    """A retrieved chunk, and the text that is ranked for it."""

    chunk: CorpusChunk
    hit: FusedHit
    enriched_content: str
