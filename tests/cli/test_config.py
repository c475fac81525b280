from pathlib import Path

import pytest
from click.testing import CliRunner

from cli.config import config
from schemas.errors import Refused
from schemas.settings.process import KNOWN_NAMES


@pytest.fixture
def runner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CliRunner:
    """A runner in an empty folder with no setting in the environment."""
    monkeypatch.chdir(tmp_path)
    return CliRunner(env=dict.fromkeys([*KNOWN_NAMES, "TESTING"]))


def test_show_keeps_secrets(runner: CliRunner) -> None:
    for options in [[], ["--json"]]:
        secrets = {
            "DATABASE_URL": "postgresql://u:hidden@h/x",
            "REDIS_URL": "redis://:hidden@h",
            "RAGQ_OPENAI_API_KEY": "hidden",
        }

        output = runner.invoke(config, ["show", *options], env=secrets).output

        assert output.count("set, not shown") == 3
        assert "hidden" not in output


def test_show_refuses_what_submit_would_refuse(runner: CliRunner) -> None:
    result = runner.invoke(config, ["show", "--profile", "papr"])

    assert isinstance(result.exception, Refused)
