"""The lines of a text file, with their numbers."""

from schemas.values.interviews import FileProblem
from stages.files.problems import Parsed


def numbered_lines(data: bytes, *, file: str, what_to_do: str) -> Parsed[tuple[tuple[int, str], ...]]:
    r"""Every line that is not blank, and its number from 1. A byte order mark is ignored.

    A file that is not UTF-8, or has no such line, is a problem; for the latter, `what_to_do` is the advice.

    >>> numbered_lines(b"one\r\n\ntwo", file="a.txt", what_to_do="write a word a line").value
    ((1, 'one'), (3, 'two'))
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        return Parsed((), (FileProblem(file=file, line=line, found="is not UTF-8", what_to_do="save it as UTF-8"),))
    lines = tuple((number, line.rstrip("\r")) for number, line in enumerate(text.split("\n"), start=1) if line.strip())
    empty = FileProblem(file=file, line=None, found="is empty", what_to_do=what_to_do)
    return Parsed(lines, () if lines else (empty,))
