import stat
from pathlib import Path

from stack.home import kept_password, write_private


def test_a_private_file_is_readable_by_its_owner_alone(tmp_path: Path) -> None:
    write_private(tmp_path / "key", "first")
    write_private(tmp_path / "key", "second")
    assert (tmp_path / "key").read_text() == "second"
    assert stat.S_IMODE((tmp_path / "key").stat().st_mode) == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["key"]


def test_a_password_is_made_once(tmp_path: Path) -> None:
    first = kept_password(tmp_path / "password")
    assert len(first) == 48
    assert kept_password(tmp_path / "password") == first
