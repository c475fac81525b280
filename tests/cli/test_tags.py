"""`ragq import tags`, `index tags`, `submit --phrases`, `vocabulary` and `tags`: what is stored, refused and printed.

Models are built and phrases are found in the acceptance tests.
"""

import json
from pathlib import Path

import pytest

from schemas.errors import Refused
from tests.acceptance.wardrobe import write_wardrobe
from tests.api.vocabularies import COAT, RANKS, REPORT, finish, mark_built
from tests.cli.conftest import Ragq, Stored

JOBS = "SELECT subject, inputs, mode FROM job WHERE kind = 'tags' ORDER BY id"


@pytest.fixture
def wardrobe(ragq: Ragq, tmp_path: Path) -> Path:
    """The vocabulary, imported."""
    folder = write_wardrobe(tmp_path / "wardrobe")
    assert ragq("import", "tags", str(folder)).exit_code == 0
    return folder


def test_phrases_and_context_tags_become_inputs_of_one_job_each_and_results_have_the_parts_that_are_asked_for(
    ragq: Ragq, stored: Stored, wardrobe: Path, tmp_path: Path
) -> None:
    stored(mark_built)
    (tmp_path / "p.jsonl").write_text('red hat, coat\n{"id": "q7", "phrases": ["shirt"], "context_tags": ["blue"]}\n')
    by = ("--phrases", "p.jsonl", "--vocabulary", "wardrobe", "--allow-nsfw", "--context-tags", "boots, ,scarf")

    done = ragq("submit", *by, "--json")

    assert json.loads(done.stdout)["jobs"] == 2
    first, second = stored(lambda connection: connection.fetch(JOBS))
    assert (first["subject"], first["mode"], second["subject"]) == ("1", "candidates", "q7")
    assert first["inputs"]["phrases"] == ["red hat", "coat"]
    assert first["inputs"]["allow_nsfw_tags"] is True
    assert second["inputs"]["context_tags"] == ["blue", "boots", "scarf"]
    (run,) = stored(lambda connection: connection.fetch("SELECT settings, request FROM run"))
    assert run["settings"]["PSQ_MIN_TAG_COUNT"] == {"value": "auto", "source": "default"}
    # 11 of 12 tags reach 100, which is less than 95 %.
    assert first["inputs"]["min_tag_count"] == 0
    assert first["inputs"]["sentences"] == {"backend": "huggingface", "model": "mini", "digest": "d"}
    assert "hat" not in json.dumps(run["request"])

    stored(finish, 1)
    candidates, reports = [COAT.model_dump(mode="json")], [REPORT.model_dump(mode="json")]
    one, _ = json.loads(ragq("tags", "show", "r1", "--json", "--verbose").stdout)["sets"]
    assert (one["id"], one["status"], one["result"]) == ("1", "succeeded", [candidates, reports])
    assert json.loads(ragq("tags", "show", "j1", "--json", "--phrase-ranks").stdout) == [candidates, RANKS]


def test_bad_lines_are_reported_and_nothing_is_submitted(
    ragq: Ragq, stored: Stored, wardrobe: Path, tmp_path: Path
) -> None:
    stored(mark_built)
    (tmp_path / "p.jsonl").write_text('hat\n["secret\n{"phrases": ["secret\\u0000"]}\n')

    done = ragq("submit", "--phrases", "p.jsonl", "--vocabulary", "wardrobe")

    assert isinstance(done.exception, Refused)
    assert "p.jsonl:2" in str(done.exception)
    assert "p.jsonl:3" in str(done.exception)
    assert "secret" not in str(done.exception)
    assert stored(lambda connection: connection.fetch(JOBS)) == []


def test_files_that_are_not_read_are_named(ragq: Ragq, tmp_path: Path) -> None:
    folder = write_wardrobe(tmp_path / "wardrobe")
    (folder / "ratings.csv").rename(folder / "unsafe.csv")
    (folder / "tag_lists.txt").rename(folder / "tag_list.txt")
    (folder / "notes.csv").write_text("who,when\nme,today\n")
    done = ragq("import", "tags", str(folder), "--name", "other")

    said = " ".join(done.stderr.split())
    assert "notes.csv, tag_list.txt (is it tag_lists.txt, lists of tags" in said
    assert "unsafe.csv" in said
    assert "0 rated" in done.stdout
