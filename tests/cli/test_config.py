import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from cli.config import config
from schemas.errors import Refused
from schemas.settings.base import value_in_words
from schemas.settings.names import ORIGINAL_NAMES, Treatment
from schemas.settings.process import KNOWN_NAMES
from schemas.settings.run import RUN_SETTINGS


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


def test_check_has_a_line_for_every_name_of_an_env_file_of_ai_psychiatrist(runner: CliRunner) -> None:
    values = {setting.name: value_in_words(setting.default) for setting in RUN_SETTINGS.values()}
    accepted = {name: original.accepted[0] for name, original in ORIGINAL_NAMES.items() if original.accepted}
    other = {"OLLAMA_HOST": "127.0.0.1", "OLLAMA_PORT": "11434", "LOG_LEVEL": "INFO", "LOG_FORMAT": "json"}
    of_run = {name: "" if value == "empty" else value for name, value in values.items()} | accepted | other
    names = RUN_SETTINGS.keys() | ORIGINAL_NAMES.keys()
    Path("theirs.env").write_text(
        "".join(f"{name}={of_run.get(name, 'hidden')}\n" for name in names if name != "SEVERITY_INFERENCE_MODE")
        + "SEVERITY_INFERENCE_MODE=strict\n"
    )

    checked = runner.invoke(config, ["check", "theirs.env"])
    as_json = json.loads(runner.invoke(config, ["check", "theirs.env", "--json"]).stdout)

    assert (checked.exit_code, checked.stderr, as_json["problems"]) == (0, "", [])
    lines = {line.split()[0]: line for line in checked.stdout.splitlines()[1:] if not line.startswith(" ")}
    assert lines.keys() == names
    for name, original in ORIGINAL_NAMES.items():
        is_warned = original.treatment is Treatment.WARNED
        assert lines[name].split()[1] == ("warned" if is_warned else "honoured")
    assert {one["name"] for one in as_json["names"]} == names
    assert "hidden" not in checked.output
