"""The works that come with ragq contain every kind of block."""

from pathlib import Path

import pytest

from cli.work_files import find_files, read_works
from demo.library import write_library
from schemas.errors import Refused
from schemas.statuses import VectorStatus
from stages.corpora.cut import cut_work


def test_the_works_have_titles_sections_and_tables_and_make_dozens_of_chunks(tmp_path: Path) -> None:
    names = write_library(tmp_path / "works")
    works = read_works(find_files([tmp_path / "works"]), given={}).works

    assert names == ["bridges.md", "clocks.md", "tea.md"]
    assert [work.bibliography.title for work in works] == [
        "How Bridges Stand Up",
        "How Clocks Keep Time",
        "How Tea Is Made",
    ]
    for work in works:
        chunks = cut_work(work.document, title=work.bibliography.title)
        statuses = [chunk.vector_status for chunk in chunks]
        assert statuses.count(VectorStatus.TO_VEC) >= 14
        assert statuses.count(VectorStatus.TABLE) == 1
        assert {chunk.level for chunk in chunks} >= {"H1", "H2", "H3"}


def test_other_files_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine.md").write_text("mine")

    with pytest.raises(Refused, match=r"mine\.md"):
        write_library(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.md"]
