from pathlib import Path

import pytest

from schemas.errors import Refused
from schemas.settings.base import SettingSource
from schemas.settings.process import ProcessSettings, effective_process


def problems(environment: dict[str, str]) -> list[str]:
    with pytest.raises(Refused) as refusal:
        ProcessSettings.from_environment(environment)
    return [line.removeprefix("- ") for line in str(refusal.value).splitlines()[1:-1]]


def test_the_environment_wins_over_the_file(tmp_path: Path) -> None:
    file = tmp_path / ".env"
    file.write_text("OLLAMA_HOST=file\nREDIS_URL=redis://file\n")

    settings, sources = effective_process({"OLLAMA_HOST": "environment"}, file)

    assert (settings.ollama_host, settings.redis_url) == ("environment", "redis://file")
    given = {name: source for name, source in sources.items() if source != SettingSource.DEFAULT}
    assert given == {"OLLAMA_HOST": SettingSource.ENVIRONMENT, "REDIS_URL": SettingSource.FILE}


def test_secrets_are_not_shown() -> None:
    settings = ProcessSettings.from_environment(
        {"DATABASE_URL": "postgresql://u:hidden@h/x", "REDIS_URL": "redis://:hidden@h", "RAGQ_OPENAI_API_KEY": "hidden"}
    )

    assert "hidden" not in repr(settings)
    assert "hidden" not in " ".join(problems({"RAGQ_OPENAI_API_KYE": "hidden"}))


@pytest.mark.parametrize("origin", ["*", "a.example", "https://a.example/", "https://*.example", "null"])
def test_what_no_browser_sends_is_no_origin(origin: str) -> None:
    assert problems({"RAGQ_API_CORS_ORIGINS": f"https://a.example,{origin}"}) == [
        f"RAGQ_API_CORS_ORIGINS names {origin!r}, which is not an origin; write https://name or https://name:port "
        "(RAGQ_API_CORS_ORIGINS: environment)."
    ]


def test_a_misspelt_name_of_the_process_is_refused_and_one_of_a_run_is_not() -> None:
    assert problems({"LOG_LEVL": "DEBUG"}) == ["LOG_LEVL (environment) is not a setting; did you mean LOG_LEVEL?"]
    assert ProcessSettings.from_environment({"CONSISTENCY_N_SAMPLE": "3"}) == ProcessSettings()


def test_no_worker_is_ended_for_its_silence_while_its_lease_is_valid() -> None:
    (problem,) = problems({"RAGQ_HUNG_SECONDS": "60", "RAGQ_LEASE_SECONDS": "60"})
    assert problem.startswith("RAGQ_HUNG_SECONDS=60 is not more than RAGQ_LEASE_SECONDS=60")


def test_a_server_is_given_more_stages_than_the_embedded_one() -> None:
    def stages(**environment: str) -> int:
        return ProcessSettings.from_environment(environment).llm_stages

    assert stages() == 4
    assert stages(OLLAMA_HOST="gpu") == stages(RAGQ_OPENAI_BASE_URL="http://gpu/v1") == 20
    assert stages(OLLAMA_HOST="gpu", RAGQ_LLM_CONCURRENCY="2") == 3
