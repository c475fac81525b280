import json
from pathlib import Path

from click.testing import CliRunner

from cli.demo_data import demo_data
from schemas.errors import Refused


def test_the_command_leaves_other_data_alone(tmp_path: Path) -> None:
    (tmp_path / "mine.csv").write_bytes(b"kept")
    result = CliRunner().invoke(demo_data, [str(tmp_path)])
    assert isinstance(result.exception, Refused)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.csv"]


def test_the_files_that_were_written_are_listed_as_json(tmp_path: Path) -> None:
    done = CliRunner().invoke(demo_data, ["--works", str(tmp_path / "works"), "--json"])

    files = sorted(file.name for file in (tmp_path / "works").iterdir())
    assert json.loads(done.stdout) == {"directory": str(tmp_path / "works"), "files": files}
