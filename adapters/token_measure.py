"""The tokens of an embedder, counted by its tokenizer without the model."""

from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tokenizers import Tokenizer


class Tokens:
    """The port Measure over a `tokenizer.json`, which is read at the first text.

    What the embedder adds to every text counts, and so does the path of headings where it is embedded. The sum holds
    for tokenizers that split at spaces, as those of BERT and its descendants do.
    """

    def __init__(self, file: Path, *, embeds_headings: bool) -> None:
        self._file = file
        self._embeds_headings = embeds_headings

    def length(self, text: str) -> int:
        """See Measure."""
        return len(self._tokenizer.encode(text, add_special_tokens=False).ids)

    def pieces(self, text: str, most: int) -> Iterator[str]:
        """See Measure. A piece ends before a space where it has one, else between two tokens."""
        starts = [start for start, _ in self._tokenizer.encode(text, add_special_tokens=False).offsets]
        begin = token = 0
        while len(starts) - token > most:
            token += most
            end = starts[token]
            space = text.rfind(" ", begin + 1, end)
            if space > begin:
                while starts[token - 1] > space:
                    token -= 1
                end = starts[token]
            # The second part of a word can have more tokens by itself than within the word.
            yield from self._halved(text[begin:end].strip(), most)
            begin = end
        if rest := text[begin:].strip():
            yield from self._halved(rest, most)

    def around(self, headings: str | None) -> int:
        """See Measure."""
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

        tokenizer = Tokenizer.from_file(str(self._file))
        tokenizer.no_truncation()
        tokenizer.no_padding()
        return tokenizer
