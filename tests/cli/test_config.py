import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from cli.config import config
from cli.settings_reference import settings_reference
from schemas.errors import Refused
from schemas.settings.process import KNOWN_NAMES

REPOSITORY = Path(__file__).parents[2]


@pytest.fixture
def runner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CliRunner:
    """A runner in an empty folder with no setting in the environment."""
    monkeypatch.chdir(tmp_path)
    return CliRunner(env=dict.fromkeys([*KNOWN_NAMES, "TESTING"]))


def test_the_committed_reference_is_current() -> None:
    committed = (REPOSITORY / "docs/settings.md").read_text(encoding="utf-8")

    assert committed == settings_reference(), "run: ragq config reference > docs/settings.md"


def test_reference_prints_the_reference(runner: CliRunner) -> None:
    assert runner.invoke(config, ["reference"]).output == settings_reference()


def test_show_names_the_profile_and_marks_what_changed(runner: CliRunner) -> None:
    output = runner.invoke(config, ["show", "--set", "EMBEDDING_TOP_K_REFERENCES=5"]).output

    lines = [line.split() for line in output.splitlines()]
    assert output.startswith("Profile demo (neither OLLAMA_HOST nor RAGQ_OPENAI_BASE_URL is set")
    assert ["*", "EMBEDDING_TOP_K_REFERENCES", "5", "option"] in lines
    assert ["EMBEDDING_CHUNK_SIZE", "8", "default"] in lines
    assert ["DATABASE_URL", "unset", "default"] in lines


def test_show_prints_json(runner: CliRunner) -> None:
    Path(".env").write_text("MODEL_JUDGE_MODEL=judge\n")

    shown = json.loads(runner.invoke(config, ["show", "--profile", "paper", "--json"]).output)

    assert (shown["profile"], shown["profile_source"]) == ("paper", "option --profile")
    assert shown["run"]["MODEL_JUDGE_MODEL"] == {"value": "judge", "source": "file", "changed": True}
    assert shown["process"]["RAGQ_LEASE_SECONDS"] == {"value": 6.0, "source": "default", "changed": False}


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_show_keeps_secrets(runner: CliRunner, options: list[str]) -> None:
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


def test_an_assignment_needs_a_name_and_a_value(runner: CliRunner) -> None:
    result = runner.invoke(config, ["show", "--set", "EMBEDDING_TOP_K_REFERENCES"])

    assert result.exit_code == 2
    assert "is not of the form NAME=VALUE, such as EMBEDDING_TOP_K_REFERENCES=3." in result.output


def test_the_terminal_width_does_not_cut_a_piped_value(runner: CliRunner) -> None:
    output = runner.invoke(config, ["show"], env={"COLUMNS": "40"}).output

    assert "huggingface_all_minilm_l6_v2_paper_train  profile" in output
