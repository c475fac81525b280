"""Phrases run through the real queue: from a vocabulary's files to candidate tags in the requested shapes."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests import run_folder
from tests.acceptance.broker_contents import commands_received, once_sent
from tests.acceptance.conftest import Install
from tests.acceptance.harness import Installation
from tests.acceptance.wardrobe import write_wardrobe

WARDROBE = ("--vocabulary", "wardrobe", "--until", "validate")


@pytest.fixture(scope="session")
def wardrobe_template(install: Install, migrated_template: str, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A database with the vocabulary imported and its models built, for others to copy."""

    def build() -> str:
        with install(migrated_template) as installation:
            folder = write_wardrobe(tmp_path_factory.mktemp("vocabulary") / "wardrobe")
            imported = installation.ragq("import", "tags", str(folder), "--json")
            assert imported.exit_code == 0, imported.stderr
            assert (imported.json["vocabulary"], imported.json["tags"], imported.json["rated"]) == ("wardrobe", 12, 3)
            installation.start_worker()
            built = installation.ragq("index", "tags", "wardrobe")
            assert built.exit_code == 0, built.stderr
        return installation.database

    return run_folder.once("wardrobe_template", build)


@pytest.fixture
def phrases(tmp_path: Path) -> Any:
    """Writes a file of phrase sets; its path."""

    def write(*lines: Any) -> str:
        path = tmp_path / f"phrases{len(list(tmp_path.iterdir()))}.jsonl"
        path.write_text("".join(f"{line if isinstance(line, str) else json.dumps(line)}\n" for line in lines))
        return str(path)

    return write


def results(installation: Installation, file: str, *options: str) -> list[Any]:
    """The whole result of each set of a file."""
    done = installation.ragq("submit", "--phrases", file, *WARDROBE, "--wait", "--json", *options)
    assert done.exit_code == 0, done.stderr
    whole = ("--verbose", "--phrase-ranks")
    return [one["result"] for one in installation.ragq("tags", "show", done.json["run"], "--json", *whole).json["sets"]]


def test_unsafe_tags_are_returned_only_when_permitted_and_phrases_are_in_postgres_alone(
    install: Install, wardrobe_template: str, phrases: Any
) -> None:
    secret = "lighthouse keeper overcoat"
    by = ("--phrases", phrases({"id": "s-1", "phrases": [secret], "context_tags": ["harbour bell"]}))
    with install(wardrobe_template) as installation:
        with commands_received(installation.redis_url) as commands:
            submitted = installation.ragq("submit", *by, *WARDROBE, "--json")
            # One that sends, and takes nothing of the run.
            sending = installation.start_worker(stages=("chunk",), LOG_LEVEL="DEBUG")
            queued = once_sent(installation.redis_url, "s-1")
            sending.stop()
            installation.start_worker(LOG_LEVEL="DEBUG")
            run_id = submitted.json["run_id"]
            assert installation.wait_for(run_id) == {"succeeded": 1}
            printed = [installation.ragq(command, f"r{run_id}") for command in ("show", "watch", "failures", "audit")]
            seen = [queued, *commands, installation.logs, submitted.stdout, submitted.stderr]
            seen += [text for done in printed for text in (done.stdout, done.stderr)]
        assert "s-1" in queued
        words = {word for word in (*secret.split(), "harbour", secret.replace(" ", "_")) if word != "overcoat"}
        assert [word for word in words if word in "\n".join(seen)] == []

        everything = ("--set", "PSQ_RETRIEVAL_PER_PHRASE_K=50", "--set", "PSQ_RETRIEVAL_PER_PHRASE_FINAL_K=50")
        names = phrases(["lingerie"], ["unmentionables"], ["night wear"], ["lingeries"])
        refused = results(installation, names, *everything)
        permitted = results(installation, names, *everything, "--allow-nsfw")
    assert len(refused) == len(permitted) == 4
    for without, with_all in zip(refused, permitted, strict=True):
        # As an alias of a permitted tag `night_wear` names pyjamas; that is a token, and no tag.
        tags = [candidate["tag"] for report in without[1] for candidate in report["candidates"]]
        assert "lingerie" not in [*tags, *(candidate["tag"] for candidate in without[0]), *without[2]]
        assert "lingerie" in [candidate["tag"] for candidate in with_all[0]]


def test_a_newer_vocabulary_does_not_affect_jobs_of_the_older_one_and_a_broken_contract_fails_the_chain(
    install: Install, wardrobe_template: str, phrases: Any, tmp_path: Path
) -> None:
    with install(wardrobe_template) as installation:
        coats, shirts = (installation.submit("--phrases", phrases([word]), *WARDROBE) for word in ("overcoat", "tees"))
        folder = write_wardrobe(tmp_path / "wardrobe")
        (folder / "tags.csv").write_text("name,category,count,aliases\nhat,0,900,overcoat\n")
        (folder / "ratings.csv").unlink()
        assert installation.ragq("import", "tags", str(folder)).exit_code == 0
        stages = installation.start_worker(stages=("embed", "retrieve", "rerank"))
        ready = "SELECT count(*) = 2 FROM stage_run WHERE stage = 'validate' AND status = 'ready'"
        installation.wait_until(ready, alive=stages)
        installation.rows("UPDATE tag SET nsfw_probability = 0.99 WHERE name = 'shirt' RETURNING id")
        installation.start_worker(stages=("validate",))

        assert (installation.wait_for(coats), installation.wait_for(shirts)) == ({"succeeded": 1}, {"failed": 1})

        found, broken = (installation.ragq("tags", "show", f"r{run}", "--json").json for run in (coats, shirts))
        (job,) = installation.ragq("show", f"r{shirts}", "--json").json["jobs"]
        refused = installation.ragq("submit", "--phrases", phrases(["overcoat"]), *WARDROBE)
    assert [one["tag"] for one in found["sets"][0]["result"]] == ["coat"]
    assert (refused.exit_code, "`ragq index tags wardrobe` builds them" in refused.stderr) == (1, True)
    assert (job["error"]["type"], job["error"]["category"]) == ("schemas.errors.DomainError", "tag_contract_broken")
    assert (broken["sets"][0]["status"], broken["sets"][0]["result"]) == ("failed", None)
