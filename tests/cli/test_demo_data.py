import json
from pathlib import Path

from click.testing import CliRunner

from cli.demo_data import demo_data
from demo.data_set import data_set_files
from schemas.errors import Refused


def test_the_command_writes_every_file_of_the_seed(tmp_path: Path) -> None:
    result = CliRunner().invoke(demo_data, [str(tmp_path / "new"), "--seed", "7"])
    assert (result.exit_code, result.output) == (0, f"Wrote 142 synthetic interviews to {tmp_path / 'new'}.\n")
    assert (tmp_path / "new" / "README.txt").read_bytes() == data_set_files(7)["README.txt"]


def test_the_command_leaves_other_data_alone(tmp_path: Path) -> None:
    (tmp_path / "mine.csv").write_bytes(b"kept")
    result = CliRunner().invoke(demo_data, [str(tmp_path)])
    assert isinstance(result.exception, Refused)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.csv"]


def test_the_command_writes_works_for_a_corpus(tmp_path: Path) -> None:
    result = CliRunner().invoke(demo_data, ["--works", str(tmp_path / "new")])
    assert result.output == f"Wrote bridges.md, clocks.md, tea.md to {tmp_path / 'new'}.\n"
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == ["bridges.md", "clocks.md", "tea.md"]


def test_the_command_writes_a_vocabulary_of_tags(tmp_path: Path) -> None:
    result = CliRunner().invoke(demo_data, ["--tags", str(tmp_path / "new")])
    assert result.output == f"Wrote cooccurrence.tsv, ratings.csv, tags.csv to {tmp_path / 'new'}.\n"
    assert CliRunner().invoke(demo_data, ["--tags", "--works", str(tmp_path / "new")]).exit_code == 2


def test_the_files_that_were_written_are_listed_as_json(tmp_path: Path) -> None:
    done = CliRunner().invoke(demo_data, ["--works", str(tmp_path / "works"), "--json"])

    files = sorted(file.name for file in (tmp_path / "works").iterdir())
    assert json.loads(done.stdout) == {"directory": str(tmp_path / "works"), "files": files}
