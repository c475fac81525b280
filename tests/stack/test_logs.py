from pathlib import Path

from stack.logs import last_lines


def test_the_last_lines_are_shown_indented(tmp_path: Path) -> None:
    (tmp_path / "log").write_text("one\ntwo\nthree\n")
    assert last_lines(tmp_path / "log", count=2) == "  two\n  three"


def test_a_long_log_is_read_from_its_end(tmp_path: Path) -> None:
    (tmp_path / "log").write_text("x" * 1_000_000 + "\nend\n")
    assert last_lines(tmp_path / "log", count=1) == "  end"


def test_an_empty_or_missing_log_is_reported(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    assert last_lines(tmp_path / "empty") == "  (the log is empty)"
    assert last_lines(tmp_path / "missing") == "  (no log was written)"
