"""How the works of a corpus are cut: by words, or by the tokens of its embedder."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from schemas.errors import Refused
from schemas.statuses import VectorStatus
from schemas.values.corpora import CutChunk
from stages.corpora.blocks import MarkdownDocument
from stages.corpora.cut import cut_work
from stages.corpora.measures import Measure, Words
from stages.corpora.packing import ChunkSize
from stages.model_aliases import resolved_model
from store.corpora.corpora import StoredCorpus

if TYPE_CHECKING:
    from adapters.token_measure import TokenMeasure

DEFAULT_TOKENS: Final = 192
"""Of a chunk in a new corpus, whose embedder reads as many. Chosen by measuring, see docs/benchmarks.md."""
FEWEST_TOKENS: Final = 32


@dataclass(frozen=True)
class Cutting:
    """How to cut a work."""

    size: ChunkSize
    measure: Measure
    tokens: "TokenMeasure | None"
    """Counts what is embedded; None where the tokenizer of the embedder is not on this machine."""

    def chunks(self, document: MarkdownDocument, *, title: str) -> list[CutChunk]:
        """The chunks of a work, with their tokens."""
        cut = cut_work(document, title=title, size=self.size, measure=self.measure)
        return [chunk.model_copy(update={"tokens": self._tokens(chunk)}) for chunk in cut]

    def _tokens(self, chunk: CutChunk) -> int | None:
        if self.tokens is None or chunk.vector_status is not VectorStatus.TO_VEC:
            return None
        return self.tokens.around(chunk.heading_breadcrumbs) + self.tokens.length(chunk.content)


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
    measure = _measure(backend, model, embeds_headings=True)
    if measure is None:
        if wanted:
            raise _uncountable(backend, model)
        return ChunkTokens(0, None)
    reads = measure.reads
    if wanted is None:
        return ChunkTokens(DEFAULT_TOKENS if reads is None else min(DEFAULT_TOKENS, reads), reads)
    if wanted and (wanted < FEWEST_TOKENS or (reads is not None and wanted > reads)):
        most = "" if reads is None else f" to {reads}, which {model} reads"
        raise Refused(f"Chunks of {wanted} tokens cannot be made; it is a number from {FEWEST_TOKENS}{most}, or 0.")
    return ChunkTokens(wanted, reads)


def cutting_of(corpus: StoredCorpus) -> Cutting:
    """How the works of a corpus are cut. Raises Refused where its tokens cannot be counted on this machine."""
    tokens = _measure(corpus.backend, corpus.model, embeds_headings=corpus.embeds_headings)
    if not corpus.chunk_tokens:
        return Cutting(ChunkSize(), Words(), tokens)
    if tokens is None:
        raise _uncountable(corpus.backend, corpus.model)
    return Cutting(ChunkSize.of_tokens(corpus.chunk_tokens), tokens, tokens)


def _measure(backend: str, model: str, *, embeds_headings: bool) -> "TokenMeasure | None":
    if backend != "huggingface":
        return None
    from adapters.token_measure import token_measure

    return token_measure(resolved_model(model, backend), embeds_headings=embeds_headings)


def _uncountable(backend: str, model: str) -> Refused:
    if backend != "huggingface":
        return Refused(
            f"EMBEDDING_BACKEND={backend} has no tokenizer on this machine, so chunks cannot be sized by tokens; leave "
            "--chunk-tokens out, or import with EMBEDDING_BACKEND=huggingface."
        )
    return Refused(
        f"The tokenizer of {model} is not on this machine, so chunks cannot be sized by its tokens. Import where a "
        "worker loaded the model before, name its folder as MODEL_EMBEDDING_MODEL, or import into a new corpus with "
        "--chunk-tokens 0."
    )
