"""Short chunks with the lines around them."""

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
    """The content; when it has fewer than `min_content_length` characters, between the lines around it.

    Blank lines part it from them. Lines beyond either end of the work are not there, and blank surroundings add
    nothing.
    """
    if len(chunk.content) >= min_content_length:
        return chunk.content
    above = passage(work.lines, chunk.start_line - lines_above, chunk.start_line - 1)
    below = passage(work.lines, chunk.end_line + 1, chunk.end_line + lines_below)
    return "\n\n".join(part for part in (above, chunk.content, below) if part.strip())
