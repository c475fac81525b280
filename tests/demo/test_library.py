"""The works that come with ragq contain every kind of block."""

from pathlib import Path

import pytest

from demo.data_set import write_packaged
from schemas.errors import Refused


def test_other_files_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine.md").write_text("mine")

    with pytest.raises(Refused, match=r"mine\.md"):
        write_packaged(tmp_path, "works")
    assert [path.name for path in tmp_path.iterdir()] == ["mine.md"]
