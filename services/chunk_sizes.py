"""How the works of a corpus are cut: by words, or by the tokens of its embedder."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from schemas.errors import Refused
from store.corpora.corpora import StoredCorpus

if TYPE_CHECKING:
    from adapters.cutting import Cutting

DEFAULT_TOKENS: Final = 192
"""Of a chunk in a new corpus, whose embedder reads as many. Chosen by measuring, see docs/benchmarks.md."""
FEWEST_TOKENS: Final = 32


@dataclass(frozen=True)
class ChunkTokens:
    """The sizes of chunks that a new corpus gets."""

    most: int
    """The most tokens of a chunk; 0 sizes chunks by words."""
    reads: int | None
    """The most tokens of a text that the embedder reads; None if that is not known."""


def new_chunk_tokens(backend: str, model: str, wanted: int | None) -> ChunkTokens:
    """The sizes of a corpus that this model embeds: `wanted`, or what was found to be the best.

    Words, where the tokens cannot be counted. Raises Refused for a number of tokens that cannot be counted, or that
    the model does not read.
    """
    from adapters.cutting import measure_of, uncountable

    measure = measure_of(backend, model, embeds_headings=True)
    if measure is None:
        if wanted:
            raise uncountable(backend, model)
        return ChunkTokens(0, None)
    reads = measure.reads
    if wanted is None:
        return ChunkTokens(DEFAULT_TOKENS if reads is None else min(DEFAULT_TOKENS, reads), reads)
    if wanted and (wanted < FEWEST_TOKENS or (reads is not None and wanted > reads)):
        most = "" if reads is None else f" to {reads}, which {model} reads"
        raise Refused(f"Chunks of {wanted} tokens cannot be made; it is a number from {FEWEST_TOKENS}{most}, or 0.")
    return ChunkTokens(wanted, reads)


def cutting_of(corpus: StoredCorpus, *, searches_tables: bool) -> "Cutting":
    """How the works of a corpus that has a language are cut.

    Raises Refused where its tokens cannot be counted on this machine.
    """
    assert corpus.language is not None
    return cutting_by(
        corpus.backend,
        corpus.model,
        chunk_tokens=corpus.chunk_tokens,
        embeds_headings=corpus.embeds_headings,
        language=corpus.language,
        searches_tables=searches_tables,
    )


def cutting_by(
    backend: str, model: str, *, chunk_tokens: int, embeds_headings: bool, language: str, searches_tables: bool
) -> "Cutting":
    """The same by these values, also for a corpus that is not there yet."""
    from adapters.cutting import cutting

    return cutting(
        backend,
        model,
        chunk_tokens=chunk_tokens,
        embeds_headings=embeds_headings,
        language=language,
        searches_tables=searches_tables,
    )
