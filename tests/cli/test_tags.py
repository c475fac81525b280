"""`ragq import tags`, `index tags`, `submit --phrases`, `vocabulary` and `tags`: what is stored, refused and printed.

Models are built and phrases are found in the acceptance tests.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from schemas.errors import Refused
from tests.acceptance.wardrobe import write_wardrobe
from tests.cli.conftest import Ragq

JOBS = "SELECT subject, inputs, mode FROM job WHERE kind = 'tags' ORDER BY id"

HAS_MODELS = """
UPDATE vocabulary SET model = 'fasttext', model_digest = 'tokens', context_digest = 'context', dimension = 2,
                      similarity_digest = 'similarity', sentence_backend = 'huggingface', sentence_model = 'mini',
                      sentence_digest = 'd', indexed_at = now()
"""


@pytest.fixture
def wardrobe(ragq: Ragq, tmp_path: Path) -> Path:
    """The vocabulary, imported."""
    folder = write_wardrobe(tmp_path / "wardrobe")
    assert ragq("import", "tags", str(folder)).exit_code == 0
    return folder


@pytest.fixture
def sql(stored: Callable[..., Any]) -> Callable[[str], Any]:
    """Runs a statement; its rows."""

    async def fetch(connection: Any, statement: str) -> list[dict[str, Any]]:
        return [dict(row) for row in await connection.fetch(statement)]

    return lambda statement: stored(fetch, statement)


def test_a_folder_becomes_a_vocabulary_of_its_name(ragq: Ragq, tmp_path: Path) -> None:
    done = ragq("import", "tags", str(write_wardrobe(tmp_path / "wardrobe")))

    assert done.stdout == "Imported vocabulary 'wardrobe': 12 tags, 10 aliases, 36 documents, 3 rated.\n"
    assert "no models yet; `ragq index tags wardrobe` builds them" in ragq("vocabulary", "show", "wardrobe").stdout
    (listed,) = json.loads(ragq("vocabulary", "list", "--json").stdout)
    assert (listed["name"], listed["tags"], listed["model"]) == ("wardrobe", 12, None)


@pytest.mark.parametrize("name", ["word_rating_probabilities.csv", "unsafe.csv"])
def test_ratings_are_read_by_the_name_of_the_original_or_as_an_option(ragq: Ragq, tmp_path: Path, name: str) -> None:
    folder = write_wardrobe(tmp_path / "wardrobe")
    ratings = (folder / "ratings.csv").rename(folder / name)

    done = ragq("import", "tags", str(folder), *(["--ratings", str(ratings)] if name == "unsafe.csv" else []))

    assert "3 rated" in done.stdout
    assert "Not read" not in done.stderr


def test_files_that_are_not_read_are_named_with_what_they_may_be_for(ragq: Ragq, tmp_path: Path) -> None:
    folder = write_wardrobe(tmp_path / "wardrobe")
    (folder / "ratings.csv").rename(folder / "unsafe.csv")
    (folder / "tag_lists.txt").rename(folder / "tag_list.txt")
    (folder / "notes.csv").write_text("who,when\nme,today\n")

    done = ragq("import", "tags", str(folder))

    said = " ".join(done.stderr.split())
    assert "notes.csv, tag_list.txt (is it tag_lists.txt, lists of tags" in said
    assert f"unsafe.csv (ratings? `--ratings {folder}/unsafe.csv` reads it)" in said
    assert "0 rated" in done.stdout


def test_two_files_of_ratings_are_refused(ragq: Ragq, tmp_path: Path) -> None:
    folder = write_wardrobe(tmp_path / "wardrobe")
    (folder / "unsafe.csv").write_text("hat,1\n")

    done = ragq("import", "tags", str(folder), "--ratings", str(folder / "unsafe.csv"))

    assert isinstance(done.exception, Refused) and "--ratings" in str(done.exception)


def test_bad_rows_are_reported_with_their_lines_and_nothing_is_stored(ragq: Ragq, tmp_path: Path) -> None:
    folder = write_wardrobe(tmp_path / "wardrobe")
    (folder / "tags.csv").write_text("name,category,count,aliases\nhat,0,many,\nhat,0,1,\n")

    done = ragq("import", "tags", str(folder))

    assert isinstance(done.exception, Refused)
    assert "tags.csv:2" in str(done.exception)
    assert "tags.csv:3" in str(done.exception)
    assert json.loads(ragq("vocabulary", "list", "--json").stdout) == []


def test_a_name_that_looks_like_text_is_refused(ragq: Ragq, tmp_path: Path) -> None:
    done = ragq("import", "tags", str(write_wardrobe(tmp_path / "my things")))

    assert "give it another name (--name)" in str(done.exception)


def test_phrases_and_context_tags_become_inputs_of_one_job_each(
    ragq: Ragq, wardrobe: Path, sql: Callable[[str], Any], tmp_path: Path
) -> None:
    sql(HAS_MODELS)
    (tmp_path / "p.jsonl").write_text('red hat, coat\n{"id": "q7", "phrases": ["shirt"], "context_tags": ["blue"]}\n')
    by = ("--phrases", "p.jsonl", "--vocabulary", "wardrobe", "--allow-nsfw", "--context-tags", "boots, ,scarf")

    done = ragq("submit", *by, "--json")

    assert json.loads(done.stdout)["jobs"] == 2
    first, second = sql(JOBS)
    assert (first["subject"], first["mode"], second["subject"]) == ("1", "candidates", "q7")
    assert first["inputs"]["phrases"] == ["red hat", "coat"]
    assert first["inputs"]["allow_nsfw_tags"] is True
    assert second["inputs"]["context_tags"] == ["blue", "boots", "scarf"]
    (run,) = sql("SELECT settings, request FROM run")
    assert run["settings"]["PSQ_MIN_TAG_COUNT"] == {"value": "auto", "source": "default"}
    # 11 of 12 tags reach 100, which is less than 95 %.
    assert first["inputs"]["min_tag_count"] == 0
    assert first["inputs"]["sentences"] == {"backend": "huggingface", "model": "mini", "digest": "d"}
    assert "hat" not in json.dumps(run["request"])


def test_bad_lines_are_reported_and_nothing_is_submitted(
    ragq: Ragq, wardrobe: Path, sql: Callable[[str], Any], tmp_path: Path
) -> None:
    sql(HAS_MODELS)
    (tmp_path / "p.jsonl").write_text('hat\n["secret\n{"phrases": ["secret\\u0000"]}\n')

    done = ragq("submit", "--phrases", "p.jsonl", "--vocabulary", "wardrobe")

    assert isinstance(done.exception, Refused)
    assert "p.jsonl:2" in str(done.exception)
    assert "p.jsonl:3" in str(done.exception)
    assert "secret" not in str(done.exception)
    assert sql(JOBS) == []


def test_a_missing_vocabulary_or_one_without_models_is_refused(ragq: Ragq, wardrobe: Path, tmp_path: Path) -> None:
    (tmp_path / "p.txt").write_text("hat\n")

    absent = ragq("submit", "--phrases", "p.txt", "--vocabulary", "garage")
    bare = ragq("submit", "--phrases", "p.txt", "--vocabulary", "wardrobe")

    assert "There is no vocabulary 'garage'. There are: wardrobe." in str(absent.exception)
    assert "`ragq index tags wardrobe` builds them" in str(bare.exception)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--phrases", "p.txt"), "--phrases goes with --vocabulary NAME"),
        (("--phrases", "p.txt", "--vocabulary", "v", "--verbose"), "--verbose and --phrase-ranks go with --wait"),
        (("--phrases", "p.txt", "--vocabulary", "v", "--preset", "Wide"), "--preset does not go with --phrases"),
        (("--query", "Why?", "--allow-nsfw"), "--allow-nsfw does not go with --query"),
        (("--query", "Why?", "--verbose"), "--verbose does not go with --query"),
        (
            ("--query", "Why?", "--phrases", "p.txt"),
            "Name one of --split, --participants, --query",
        ),
    ],
)
def test_incompatible_options_are_wrong_usage(
    ragq: Ragq, tmp_path: Path, options: tuple[str, ...], message: str
) -> None:
    (tmp_path / "p.txt").write_text("hat\n")

    done = ragq("submit", *options)

    assert (done.exit_code, message in done.stderr.replace("\n", " ")) == (2, True), done.stderr


def test_building_is_one_job_that_carries_the_seed_and_the_hash_of_given_vectors(
    ragq: Ragq, wardrobe: Path, sql: Callable[[str], Any], tmp_path: Path
) -> None:
    (tmp_path / "words.txt").write_text("1 2\nhat 1 0\n")
    given = ("--vectors", "words.txt", "--layout", "word2vec-text")

    assert ragq("index", "tags", "wardrobe", *given, "--seed", "3", "--no-wait").exit_code == 0
    assert ragq("index", "tags", "wardrobe", "--vectors", "words.txt", "--no-wait").exit_code == 2

    (job,) = sql("SELECT mode, inputs FROM job")
    assert (job["mode"], job["inputs"]["seed"]) == ("tags", 3)
    assert job["inputs"]["vectors"]["path"] == str(tmp_path / "words.txt")
    assert len(job["inputs"]["vectors"]["sha256"]) == 64


def test_other_runs_have_no_tags_to_show(ragq: Ragq) -> None:
    assert "r7 has no phrases" in str(ragq("tags", "show", "r7").exception)


def test_models_of_before_are_searched_by_fasttext_alone_or_refused_with_the_remedy(
    ragq: Ragq, wardrobe: Path, sql: Callable[[str], Any], tmp_path: Path
) -> None:
    sql(HAS_MODELS)
    sql("UPDATE vocabulary SET similarity_digest = NULL, sentence_backend = NULL, sentence_model = NULL")
    (tmp_path / "p.jsonl").write_text("hat\n")
    by = ("submit", "--phrases", "p.jsonl", "--vocabulary", "wardrobe")

    refused = ragq(*by)
    original = ragq(*by, "--set", "PSQ_SIMILARITY=original")

    assert isinstance(refused.exception, Refused)
    assert "Import the vocabulary again" in str(refused.exception)
    assert "PSQ_SIMILARITY=original" in str(refused.exception)
    assert original.exit_code == 0
    (job,) = sql(JOBS)
    assert "sentences" not in job["inputs"]


def test_ratings_of_unknown_tags_are_a_warning(ragq: Ragq, tmp_path: Path) -> None:
    folder = write_wardrobe(tmp_path / "wardrobe")
    (folder / "ratings.csv").write_text("tag,probability\nhat,0.1\nnobody,0.2\n")

    done = ragq("import", "tags", str(folder))

    assert (done.exit_code, "1 rated" in done.stdout) == (0, True)
    assert "Warning: 1 rating left out: the vocabulary does not have the tag." in done.stderr


def test_runs_of_phrases_are_compared(ragq: Ragq, wardrobe: Path, sql: Callable[[str], Any], tmp_path: Path) -> None:
    sql(HAS_MODELS)
    (tmp_path / "p.jsonl").write_text("red hat, coat\n")
    for options in ((), ("--new",)):
        ragq("submit", "--phrases", "p.jsonl", "--vocabulary", "wardrobe", *options)

    assert "r2 compared with r1" in ragq("diff", "r1", "r2").stdout
