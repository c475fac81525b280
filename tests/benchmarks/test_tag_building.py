"""The vocabulary that the benchmark builds models of."""

from pathlib import Path

import pytest
from click import UsageError

from benchmarks.tag_building import write_vocabulary
from stages.files.problems import accept
from stages.tags.vocabulary_files import FILES, parse_vocabulary

TEXTS = ["Cells divide and cells grow.", "Proteins fold; cells divide again.", "Folded proteins bind other proteins."]


def test_it_is_what_an_import_takes_with_as_many_tags_as_asked_for(tmp_path: Path) -> None:
    aliases, pairs = write_vocabulary(tmp_path / "words", TEXTS, size=6, pairs=4)

    files = {name: (tmp_path / "words" / name).read_bytes() for name in FILES if (tmp_path / "words" / name).exists()}
    found = accept(parse_vocabulary(files))
    assert (len(found.tags), len(found.aliases)) == (6, aliases) == (6, 7)
    assert (tmp_path / "words" / "cooccurrence.tsv").read_text().count("\n") == pairs == 4


def test_too_few_words_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="too few for 1000 tags"):
        write_vocabulary(tmp_path / "words", TEXTS, size=1000, pairs=4)
