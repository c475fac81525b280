"""Phrases run through the real queue: from a vocabulary's files to candidate tags in the requested shapes."""

import json
from pathlib import Path
from typing import Any

from tests.acceptance.broker_contents import commands_received, once_sent
from tests.acceptance.conftest import Install
from tests.acceptance.harness import Installation
from tests.acceptance.wardrobe import write_wardrobe

WARDROBE = ("--vocabulary", "wardrobe", "--until", "validate")


def phrases(file: Path, *lines: Any) -> tuple[str, str]:
    """The option of a file of phrase sets."""
    file.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return "--phrases", str(file)


def results(installation: Installation, *options: str) -> list[Any]:
    """The whole result of each set of a file."""
    done = installation.do("submit", *options, *WARDROBE, "--wait", "--json")
    whole = ("--verbose", "--phrase-ranks")
    return [one["result"] for one in installation.ragq("tags", "show", done.json["run"], "--json", *whole).json["sets"]]


def test_unsafe_tags_are_returned_only_when_permitted_and_phrases_are_in_postgres_alone(
    install: Install, migrated_template: str, tmp_path: Path
) -> None:
    secret = "lighthouse keeper overcoat"
    by = phrases(tmp_path / "one.jsonl", {"id": "s-1", "phrases": [secret], "context_tags": ["harbour bell"]})
    with install(migrated_template) as installation:
        imported = installation.do("import", "tags", str(write_wardrobe(tmp_path / "wardrobe")), "--json").json
        assert (imported["vocabulary"], imported["tags"], imported["rated"]) == ("wardrobe", 12, 3)
        building = installation.start_worker(stages=("embed", "retrieve", "rerank"))
        installation.do("index", "tags", "wardrobe", "--wait")
        broken = installation.submit(*phrases(tmp_path / "broken.jsonl", ["tees"]), *WARDROBE)
        ready = "SELECT EXISTS (SELECT FROM stage_run WHERE stage = 'validate' AND status = 'ready')"
        installation.wait_until(ready, alive=building)
        building.stop()
        installation.rows("UPDATE tag SET nsfw_probability = 0.99 WHERE name = 'shirt' RETURNING id")
        with commands_received(installation.redis_url) as commands:
            submitted = installation.ragq("submit", *by, *WARDROBE, "--json")
            # One that sends, and takes nothing of the run.
            sending = installation.start_worker(stages=("chunk",), LOG_LEVEL="DEBUG")
            queued = once_sent(installation.redis_url, "s-1")
            sending.stop()
            installation.start_worker(LOG_LEVEL="DEBUG")
            run_id = submitted.json["run_id"]
            assert installation.wait_for(run_id) == {"succeeded": 1}
            assert installation.wait_for(broken) == {"failed": 1}
            printed = [installation.ragq(command, f"r{run_id}") for command in ("show", "watch", "failures", "audit")]
            seen = [queued, *commands, installation.logs, submitted.stdout, submitted.stderr]
            seen += [text for done in printed for text in (done.stdout, done.stderr)]
        (job,) = installation.ragq("show", f"r{broken}", "--json").json["jobs"]
        assert job["error"]["category"] == "tag_contract_broken"
        assert "s-1" in queued
        words = {word for word in (*secret.split(), "harbour", secret.replace(" ", "_")) if word != "overcoat"}
        assert [word for word in words if word in "\n".join(seen)] == []

        everything = ("--set", "PSQ_RETRIEVAL_PER_PHRASE_K=50", "--set", "PSQ_RETRIEVAL_PER_PHRASE_FINAL_K=50")
        names = ["lingerie"], ["unmentionables"], ["night wear"], ["lingeries"]
        unsafe = (*phrases(tmp_path / "unsafe.jsonl", *names), *everything)
        refused, permitted = results(installation, *unsafe), results(installation, *unsafe, "--allow-nsfw")
    assert len(refused) == len(permitted) == 4
    for without, with_all in zip(refused, permitted, strict=True):
        # As an alias of a permitted tag `night_wear` names pyjamas; that is a token, and no tag.
        tags = [candidate["tag"] for report in without[1] for candidate in report["candidates"]]
        assert "lingerie" not in [*tags, *(candidate["tag"] for candidate in without[0]), *without[2]]
        assert "lingerie" in [candidate["tag"] for candidate in with_all[0]]
