"""Works from a corpus in one file on this machine."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from cli.output import draw
from cli.user_files import read_file
from services.work_files import WorkFile
from stages.corpora.corpus_file import parse_corpus
from stages.files.problems import accept
from stages.reports.numbers_in_words import counted
from stages.texts.listed import listed


def read_corpora(files: Sequence[Path], *, given: Mapping[str, Any]) -> Iterator[WorkFile]:
    """A work for each line. What of a file is not used is printed on stderr.

    Each is known by the file and its id, as if the file were a folder of markdown files. Raises FileRefused, and
    ProblemsFound with every line that cannot be used.
    """
    for file in files:
        found = accept(parse_corpus(read_file(file), file=str(file)))
        if found.empty:
            without = f"{counted(len(found.empty), 'document')} without title and text"
            draw(f"Not read of {file.name}: {without} ({listed(found.empty)}).", err=True)
        if found.left_out_keys:
            draw(f"Not read of {file.name}: {listed(found.left_out_keys)}.", err=True)
        for name, markdown in found.markdown.items():
            yield WorkFile(f"{file}/{name}.md", markdown.encode(), f"{file.resolve()}/{name}.md", given)
