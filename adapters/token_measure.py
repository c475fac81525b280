"""The tokens of an embedder, counted by its tokenizer without the model."""

import json
from collections.abc import Iterator
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from adapters.weights import PACKAGED_EMBEDDER, cached_folder, local_folder, unchecked_embedder_folder
from schemas.errors import StackError

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
        """See Measure."""
        return self._remembered(text)

    def _count(self, text: str) -> int:
        return len(self._tokenizer.encode(text, add_special_tokens=False).ids)

    def pieces(self, text: str, most: int) -> Iterator[str]:
        """See Measure. A piece ends before a space where it has one, else between two tokens."""
        if self.length(text) <= most:
            yield text
            return
        starts = [start for start, _ in self._tokenizer.encode(text, add_special_tokens=False).offsets]
        begin = first = 0
        while len(starts) - first > most:
            token = first + most
            space = text.rfind(" ", begin + 1, starts[token] + 1)
            while space > begin and token > first + 1 and starts[token - 1] > space:
                token -= 1
            if piece := text[begin : starts[token]].strip():
                yield from self._halved(piece, most)
            begin, first = starts[token], token
        if rest := text[begin:].strip():
            yield from self._halved(rest, most)

    def around(self, headings: str | None) -> int:
        """See Measure."""
        added = int(self._tokenizer.num_special_tokens_to_add(is_pair=False))
        return added + (self.length(f"{headings}\n") if self._embeds_headings and headings else 0)

    def _halved(self, text: str, most: int) -> Iterator[str]:
        """The second part of a word can have more tokens by itself than within the word."""
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


def token_measure(model: str, *, embeds_headings: bool) -> TokenMeasure | None:
    """The measure of a model by its name; None where its tokenizer is not on this machine. Nothing is downloaded."""
    folder = _folder(model)
    if folder is None or not (folder / "tokenizer.json").is_file():
        return None
    return TokenMeasure(folder, embeds_headings=embeds_headings)


def _folder(model: str) -> Path | None:
    if model == PACKAGED_EMBEDDER:
        try:
            return unchecked_embedder_folder()
        except StackError:
            return None
    if (folder := local_folder(model)) is not None:
        return folder
    try:
        return cached_folder(model)
    except (OSError, ValueError):  # not in the cache; no name of a model
        return None
