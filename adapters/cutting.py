"""How works are cut: by words, or by the tokens of their embedder."""

from dataclasses import dataclass

from adapters.token_measure import TokenMeasure, token_measure
from schemas.errors import Refused
from schemas.statuses import VectorStatus
from schemas.values.corpora import CutChunk
from stages.corpora.blocks import MarkdownDocument
from stages.corpora.cut import cut_work
from stages.corpora.measures import Measure, Words
from stages.corpora.packing import ChunkSize
from stages.models import resolved_model


@dataclass(frozen=True)
class Cutting:
    """How to cut a work."""

    size: ChunkSize
    measure: Measure
    language: str
    searches_tables: bool
    tokens: TokenMeasure | None
    """Counts what is embedded; None where the tokenizer of the embedder is not on this machine."""

    def chunks(self, document: MarkdownDocument, *, title: str) -> list[CutChunk]:
        """The chunks of a work, with their tokens."""
        cut = cut_work(
            document,
            title=title,
            size=self.size,
            measure=self.measure,
            language=self.language,
            searches_tables=self.searches_tables,
        )
        return [chunk.model_copy(update={"tokens": self._tokens(chunk)}) for chunk in cut]

    def _tokens(self, chunk: CutChunk) -> int | None:
        if self.tokens is None or chunk.vector_status is not VectorStatus.TO_VEC:
            return None
        return self.tokens.around(chunk.heading_breadcrumbs) + self.tokens.length(chunk.content)


def cutting(
    backend: str, model: str, *, chunk_tokens: int, embeds_headings: bool, language: str, searches_tables: bool
) -> Cutting:
    """How works are cut into chunks of so many tokens; 0 is by words. Raises Refused where tokens cannot be counted."""
    tokens = measure_of(backend, model, embeds_headings=embeds_headings)
    if not chunk_tokens:
        return Cutting(ChunkSize(), Words(), language, searches_tables, tokens)
    if tokens is None:
        raise uncountable(backend, model)
    return Cutting(ChunkSize.of_tokens(chunk_tokens), tokens, language, searches_tables, tokens)


def measure_of(backend: str, model: str, *, embeds_headings: bool) -> TokenMeasure | None:
    """Counts tokens of a model; None where its tokenizer is not on this machine."""
    if backend != "huggingface":
        return None
    return token_measure(resolved_model(model, backend), embeds_headings=embeds_headings)


def uncountable(backend: str, model: str) -> Refused:
    """The refusal to size chunks by the tokens of a model that is not on this machine."""
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
