"""The lines of a text file, with their numbers."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from schemas.values.interviews import FileProblem
from stages.files.problems import Parsed


@dataclass(frozen=True)
class NumberedLines:
    r"""Every line of a text that is not blank, and its number from 1. Only the text is in memory.

    >>> list(NumberedLines("one\r\n\ntwo"))
    [(1, 'one'), (3, 'two')]
    """

    text: str = field(repr=False)

    def __iter__(self) -> Iterator[tuple[int, str]]:
        number, start = 1, 0
        while start < len(self.text):
            end = self.text.find("\n", start)
            end = len(self.text) if end < 0 else end
            line = self.text[start:end]
            if line.strip():
                yield number, line.rstrip("\r")
            number, start = number + 1, end + 1


def numbered_lines(data: bytes, *, file: str, what_to_do: str) -> Parsed[NumberedLines]:
    r"""Every line that is not blank, and its number from 1. A byte order mark is ignored.

    A file that is not UTF-8, or has no such line, is a problem; for the latter, `what_to_do` is the advice.

    >>> list(numbered_lines(b"one\r\n\ntwo", file="a.txt", what_to_do="write a word a line").value)
    [(1, 'one'), (3, 'two')]
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        found = FileProblem(file=file, line=line, found="is not UTF-8", what_to_do="save it as UTF-8")
        return Parsed(NumberedLines(""), (found,))
    lines = NumberedLines(text)
    empty = FileProblem(file=file, line=None, found="is empty", what_to_do=what_to_do)
    return Parsed(lines, () if next(iter(lines), None) else (empty,))
