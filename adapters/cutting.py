"""How works are cut: by words, or by the tokens of their embedder."""

import json
from collections.abc import Callable, Iterator
from functools import cached_property, lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

from adapters.weights import PACKAGED_EMBEDDER, cached_folder, local_folder, unchecked_embedder_folder
from schemas.errors import Refused, StackError
from schemas.values.documents import CutChunk, StoredCorpus
from stages.corpora.blocks import MarkdownDocument
from stages.corpora.cut import ChunkSize, cut_work
from stages.corpora.works import Measure, Words
from stages.models import resolved_model

if TYPE_CHECKING:
    from tokenizers import Tokenizer


_REMEMBERED = 1024

#: Where a model says how many tokens of a text it reads, the first that does.
_LIMITS = (("sentence_bert_config.json", "max_seq_length"), ("config.json", "max_position_embeddings"))


class TokenMeasure:
    """The port Measure over the tokenizer of a model, which is read at the first text.

    What the embedder adds to every text counts, and so does the path of headings where it is embedded. The length of
    texts joined by spaces is exact for tokenizers that split at spaces, as those of BERT and its descendants do.
    """

    def __init__(self, folder: Path, *, embeds_headings: bool) -> None:
        self._folder = folder
        self._embeds_headings = embeds_headings
        # A sentence is measured when it is split, when it is packed, and again where the next chunk repeats it.
        self._remembered = lru_cache(_REMEMBERED)(self._count)

    @property
    def reads(self) -> int | None:
        """The most tokens of a text that the model reads; None if it does not say."""
        for name, key in _LIMITS:
            file = self._folder / name
            limit = json.loads(file.read_text(encoding="utf-8")).get(key) if file.is_file() else None
            if isinstance(limit, int):
                return limit
        return None

    def length(self, text: str) -> int:
        return self._remembered(text)

    def _count(self, text: str) -> int:
        return len(self._tokenizer.encode(text, add_special_tokens=False).ids)

    def pieces(self, text: str, most: int) -> Iterator[str]:
        """See Measure. A piece ends before a space; a word that is too long is halved."""
        piece: list[str] = []
        length = 0
        for word in text.split(" ") if self.length(text) > most else [text]:
            tokens = self.length(word)
            if piece and length + tokens > most:
                yield from self._halved(" ".join(piece), most)
                piece, length = [], 0
            piece.append(word)
            length += tokens
        yield from self._halved(" ".join(piece), most)

    def around(self, headings: str | None) -> int:
        added = int(self._tokenizer.num_special_tokens_to_add(is_pair=False))
        return added + (self.length(f"{headings}\n") if self._embeds_headings and headings else 0)

    def _halved(self, text: str, most: int) -> Iterator[str]:
        if len(text) < 2 or self.length(text) <= most:
            yield text
            return
        middle = len(text) // 2
        yield from self._halved(text[:middle], most)
        yield from self._halved(text[middle:], most)

    @cached_property
    def _tokenizer(self) -> "Tokenizer":
        from tokenizers import Tokenizer

        tokenizer = Tokenizer.from_file(str(self._folder / "tokenizer.json"))
        tokenizer.no_truncation()
        tokenizer.no_padding()
        return tokenizer


def _folder(model: str) -> Path | None:
    try:
        if model == PACKAGED_EMBEDDER:
            return unchecked_embedder_folder()
        return local_folder(model) or cached_folder(model)
    except (StackError, OSError, ValueError):  # no such package; not in the cache; no name of a model
        return None


Cut = Callable[[MarkdownDocument, str], list[CutChunk]]
"""Cuts a work with this title into chunks, with their tokens where they can be counted."""


def cutting(corpus: StoredCorpus) -> Cut:
    """How the works of a corpus that has a language are cut. Raises Refused where its tokens cannot be counted."""
    assert corpus.language is not None
    tokens = measure_of(corpus.backend, corpus.model, embeds_headings=corpus.embeds_headings)
    size = ChunkSize()
    measure: Measure = Words()
    if corpus.chunk_tokens:
        if tokens is None:
            raise uncountable(corpus.backend, corpus.model)
        size, measure = ChunkSize.of_tokens(corpus.chunk_tokens), tokens
    return partial(cut_work, size=size, measure=measure, language=corpus.language, counted_by=tokens)


def measure_of(backend: str, model: str, *, embeds_headings: bool) -> TokenMeasure | None:
    """Counts tokens of a model; None where its tokenizer is not on this machine. Nothing is downloaded."""
    folder = _folder(resolved_model(model, backend)) if backend == "huggingface" else None
    if folder is None or not (folder / "tokenizer.json").is_file():
        return None
    return TokenMeasure(folder, embeds_headings=embeds_headings)


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
