import hashlib
from pathlib import Path

import pytest

from demo.data_set import data_set_files, packaged_files, write_files
from schemas.errors import Refused
from stages.participants.daic_woz import parse_data_set

TREE_SHA256 = "022dc72a3064692477759c3b1d17026f6ed1652c0019c35febebc9bad71c30b9"


def test_the_default_seed_gives_these_bytes_on_every_machine_and_the_importer_has_no_problem_with_them() -> None:
    files = data_set_files()
    tree = hashlib.sha256()
    for name in sorted(files):
        tree.update(name.encode() + b"\0" + hashlib.sha256(files[name]).digest())
    assert tree.hexdigest() == TREE_SHA256
    assert parse_data_set(files).problems == ()


def test_writing_twice_changes_nothing(tmp_path: Path) -> None:
    for _ in range(2):
        write_files(tmp_path, data_set_files())
    written = {path.relative_to(tmp_path).as_posix(): path for path in tmp_path.rglob("*") if path.is_file()}
    assert {name: path.read_bytes() for name, path in written.items()} == data_set_files()


def test_other_files_are_never_written_over(tmp_path: Path) -> None:
    for name in ("303_AUDIO.wav", "README.txt", "mine.md"):
        folder = tmp_path / name
        folder.mkdir()
        (folder / name).write_bytes(b"mine")
        for files in (data_set_files(), packaged_files("works")):
            with pytest.raises(Refused, match=f"already holds {name}, which is not of this data set"):
                write_files(folder, files)
        assert [(path.name, path.read_bytes()) for path in folder.iterdir()] == [(name, b"mine")]
