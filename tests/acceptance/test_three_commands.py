"""From folders as DAIC-WOZ publishes them to scored participants of the paper's test split: three commands."""

import json
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from stages.participants.splits import PUBLISHED_SPLITS
from tests.acceptance.conftest import Install
from tests.acceptance.small_data_set import plain_files, write_files

#: The model writes a character for each text: it takes seconds for more.
SCORED = ("--split", "paper-test", "--limit", "1", "--until", "score", "--set", "RAGQ_SCORE_TEXT_CHARS=1", "--wait")


@pytest.mark.usefixtures("valkey")
def test_the_papers_test_split_is_scored_from_nothing_in_three_commands(
    install: Install, migrated_template: str, ollama_url: str, tmp_path: Path
) -> None:
    folder = write_files(tmp_path / "daic-woz", plain_files())
    with install(migrated_template) as installation:
        installation.settings["OLLAMA_PORT"] = str(urlsplit(ollama_url).port)
        installation.start_worker()

        imported = installation.ragq("import", "participants", str(folder))
        indexed = installation.ragq("index", "references")
        submitted = installation.ragq("submit", *SCORED)

        assert (imported.exit_code, indexed.exit_code, submitted.exit_code) == (0, 0, 0), submitted.stderr
        assert "split paper-train: 58 (published ids)" in imported.stdout
        run_id = installation.value("SELECT max(id) FROM run WHERE kind = 'participant'")
        report = json.loads(installation.ragq("report", f"r{run_id}", "--json", "--bootstrap-resamples", "2").stdout)
        assert [one["results"]["mode"] for one in report["experiments"]] == ["zero_shot", "few_shot"]
        for experiment in report["experiments"]:
            (subject,) = experiment["results"]["results"]
            assert subject["participant_id"] == PUBLISHED_SPLITS["test"][0]
            assert subject["success"]
        (index,) = report["experiments"][1]["provenance"]["reference_indexes"]
        assert (index["split"], index["participants"]) == ("paper-train", 58)
