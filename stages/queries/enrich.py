"""Short chunks extended by the lines around them."""

from schemas.values.corpora import CorpusChunk
from stages.corpora.lines import passage
from stages.queries.works import WorkText


def enriched_content(
    chunk: CorpusChunk,
    work: WorkText,
    *,
    min_content_length: int,
    lines_above: int,
    lines_below: int,
) -> str:
    """The content; with fewer than `min_content_length` characters, it is extended by the lines above and below.

    Blank lines separate the parts. Lines beyond either end of the work are ignored, and so are blank surroundings.
    """
    if len(chunk.content) >= min_content_length:
        return chunk.content
    above = passage(work.lines, chunk.start_line - lines_above, chunk.start_line - 1)
    below = passage(work.lines, chunk.end_line + 1, chunk.end_line + lines_below)
    return "\n\n".join(part for part in (above, chunk.content, below) if part.strip())
