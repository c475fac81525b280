"""Phrases run through the real queue: from a vocabulary's files to candidate tags in the requested shapes."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import run_folder
from tests.acceptance.broker_contents import commands_received, once_sent
from tests.acceptance.conftest import Install
from tests.acceptance.harness import Installation
from tests.acceptance.wardrobe import write_wardrobe


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


@pytest.fixture(scope="module")
def asked(install: Install, wardrobe_template: str) -> Iterator[Installation]:
    """An installation with the vocabulary and one worker, for tests that change nothing in it."""
    with install(wardrobe_template) as installation:
        installation.start_worker()
        yield installation


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
    by = ("--phrases", file, "--vocabulary", "wardrobe", "--until", "validate")
    done = installation.ragq("submit", *by, "--wait", "--json", *options)
    assert done.exit_code == 0, done.stderr
    whole = ("--verbose", "--phrase-ranks")
    return [one["result"] for one in installation.ragq("tags", "show", done.json["run"], "--json", *whole).json["sets"]]


def test_unsafe_tags_are_returned_only_when_permitted(asked: Installation, phrases: Any) -> None:
    everything = ("--set", "PSQ_RETRIEVAL_PER_PHRASE_K=50", "--set", "PSQ_RETRIEVAL_PER_PHRASE_FINAL_K=50")
    names = phrases(["lingerie"], ["unmentionables"], ["night wear"], ["lingeries"])

    refused, permitted = results(asked, names, *everything), results(asked, names, *everything, "--allow-nsfw")

    assert len(refused) == len(permitted) == 4
    for without, with_all in zip(refused, permitted, strict=True):
        # As an alias of a permitted tag `night_wear` names pyjamas; that is a token, and no tag.
        tags = [candidate["tag"] for report in without[1] for candidate in report["candidates"]]
        assert "lingerie" not in [*tags, *(candidate["tag"] for candidate in without[0]), *without[2]]
        assert "lingerie" in [candidate["tag"] for candidate in with_all[0]]


def test_a_newer_vocabulary_of_the_name_does_not_affect_jobs_of_the_older_one(
    install: Install, wardrobe_template: str, phrases: Any, tmp_path: Path
) -> None:
    by = ("--phrases", phrases(["overcoat"]), "--vocabulary", "wardrobe", "--until", "validate")
    with install(wardrobe_template) as installation:
        run_id = installation.submit(*by)
        folder = write_wardrobe(tmp_path / "wardrobe")
        (folder / "tags.csv").write_text("name,category,count,aliases\nhat,0,900,overcoat\n")
        (folder / "ratings.csv").unlink()
        assert installation.ragq("import", "tags", str(folder)).exit_code == 0
        installation.start_worker()

        assert installation.wait_for(run_id) == {"succeeded": 1}

        found = installation.ragq("tags", "show", f"r{run_id}", "--json").json
        refused = installation.ragq("submit", *by)
    assert [one["tag"] for one in found["sets"][0]["result"]] == ["coat"]
    assert (refused.exit_code, "`ragq index tags wardrobe` builds them" in refused.stderr) == (1, True)


def test_a_broken_contract_fails_the_chain(install: Install, wardrobe_template: str, phrases: Any) -> None:
    with install(wardrobe_template) as installation:
        stages = installation.start_worker(stages=("embed", "retrieve", "rerank"))
        run_id = installation.submit(
            *("--phrases", phrases(["overcoat"]), "--vocabulary", "wardrobe", "--until", "validate")
        )
        installation.wait_until(
            "SELECT EXISTS (SELECT FROM stage_run WHERE stage = 'validate' AND status = 'ready')", alive=stages
        )
        installation.rows("UPDATE tag SET nsfw_probability = 0.99 WHERE name = 'coat' RETURNING id")
        installation.start_worker(stages=("validate",))

        assert installation.wait_for(run_id) == {"failed": 1}

        (job,) = installation.ragq("show", f"r{run_id}", "--json").json["jobs"]
        shown = installation.ragq("tags", "show", f"r{run_id}", "--json").json
    assert (job["error"]["type"], job["error"]["category"]) == ("schemas.errors.DomainError", "tag_contract_broken")
    assert (shown["sets"][0]["status"], shown["sets"][0]["result"]) == ("failed", None)


def test_phrases_are_in_postgres_alone(install: Install, wardrobe_template: str, phrases: Any) -> None:
    secret = "lighthouse keeper overcoat"
    by = ("--phrases", phrases({"id": "s-1", "phrases": [secret], "context_tags": ["harbour bell"]}))
    with install(wardrobe_template) as installation, commands_received(installation.redis_url) as commands:
        submitted = installation.ragq("submit", *by, "--vocabulary", "wardrobe", "--until", "validate", "--json")
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
