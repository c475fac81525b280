"""What rankers score."""

from typing import NamedTuple

from schemas.values.corpora import CorpusChunk
from schemas.values.queries import FusedHit


class RankingCandidate(NamedTuple):
    """A retrieved chunk and the text that rankers score for it."""

    chunk: CorpusChunk
    hit: FusedHit
    enriched_content: str
