"""`ragq submit`: a submission as a file, and what is printed of one."""

import json
import tomllib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from schemas.errors import Refused
from schemas.values.participants import Split
from store import vocabularies
from store.database import Connection
from store.references import interviews
from tests.cli.conftest import Ragq, Stored
from tests.cli.test_imports import write_transcript
from tests.services.questions.questions import store_small_corpus
from tests.stages.tags.clothes import CLOTHES
from tests.store.small_corpora import SearchableChunk, store_corpus
from tests.store.vocabularies.test_vocabularies import keep_models
from tests.tcp_proxy import CommitProxy

QUESTION = 'Why is "black" tea \\ dark — and green tea not?'
#: They would change each run that does not name its settings itself.
ELSEWHERE = "MODEL_TEMPERATURE=0.9\nRAGQ_QUERY_TEMPERATURE=0.9\nPSQ_MIN_TAG_COUNT=7\nRAGQ_PROFILE=paper\n"


async def store_everything(connection: Connection) -> None:
    await store_small_corpus(connection)
    await store_corpus(connection, [SearchableChunk(2, "tea", np.ones(2, dtype=np.float32))], name="archive")
    await connection.execute("UPDATE works SET authors = 'A. Leaf'")
    await keep_models(connection, (await vocabularies.keep(connection, "clothes", CLOTHES)).id)
    split = Split(name="paper-test", csv_hash="c", ids_hash="i", participant_ids=[303, 304])
    await interviews.keep_splits(connection, "data", [split])


@pytest.fixture
def filled(ragq: Ragq, stored: Stored, tmp_path: Path) -> Ragq:
    """`ragq` on a database with participants, a corpus and a vocabulary, in a folder with files to submit."""
    for participant_id in (303, 304):
        write_transcript(tmp_path / "data/transcripts", participant_id)
    assert ragq("import", "participants", "data").exit_code == 0
    stored(store_everything)
    Path("set.jsonl").write_text('{"id": "q1", "text": "Why?"}\n{"id": "q2", "text": "How, \\"exactly\\"?"}\n')
    Path("qrels.tsv").write_text("query-id\tcorpus-id\tscore\nq1\tA work\t1\n")
    Path("phrases.jsonl").write_text('{"phrases": ["big shirt", "hat"], "context_tags": ["scarf"]}\n["red"]\n')
    return ragq


SUBMITTED: Sequence[Sequence[str]] = (
    ("--split", "paper-test", "--limit", "1", "--zero-shot-only", "--set", "BINARY_THRESHOLD=12"),
    ("--participants", "304,303", "--zero-shot-only", "--until", "assemble", "--retries", "2"),
    ("--query", QUESTION, "--corpus", "small", "--preset", "Original", "--set", "retrieval.fusion=rrf"),
    ("--query", "Why?", "--corpus", "small", "--no-expand", "--until", "augment", "--model", "light"),
    ("--query", "Why?", "--corpus", "small", "--corpus", "archive", "--where", "author=leaf"),
    ("--queries", "set.jsonl", "--qrels", "qrels.tsv", "--corpus", "small", "--set", "RAGQ_QUERY_MAX_TOKENS=99"),
    ("--phrases", "phrases.jsonl", "--vocabulary", "clothes", "--allow-nsfw", "--set", "PSQ_MIN_TAG_COUNT=3"),
)


async def identities(connection: Connection, *run_ids: int) -> list[str]:
    rows = await connection.fetch("SELECT DISTINCT identity FROM run WHERE id = ANY($1)", run_ids)
    return [row["identity"] for row in rows]


def test_the_printed_file_submits_the_same_run(filled: Ragq, stored: Stored) -> None:
    for submitted in SUBMITTED:
        first = filled("submit", *submitted, "--profile", "demo").stdout.strip()
        printed = filled("show", first, "--config", "--with-text")
        Path(".env").write_text(ELSEWHERE)
        Path("run.toml").write_text(printed.stdout)

        again = filled("submit", "--config", "run.toml", "--json")
        forced = filled("submit", "--config", "run.toml", "--new").stdout.strip()
        of_forced = filled("show", forced, "--config", "--with-text")
        Path(".env").unlink()

        assert json.loads(again.stdout)["is_new"] is False
        assert (forced != first, len(stored(identities, int(first[1:]), int(forced[1:])))) == (True, 1)
        assert tomllib.loads(of_forced.stdout) == tomllib.loads(printed.stdout)


def test_the_command_line_wins_over_the_file_and_the_file_over_the_environment(filled: Ragq) -> None:
    Path(".env").write_text("MODEL_TEMPERATURE=0.1\nBINARY_THRESHOLD=11\nPREDICTION_MODE=total\n")
    Path("run.toml").write_text(
        'split = "paper-test"\nlimit = 1\nzero-shot-only = true\nprofile = "paper"\n'
        "[settings]\nMODEL_TEMPERATURE = 0.2\nBINARY_THRESHOLD = 12\n"
    )

    done = filled("submit", "--config", "run.toml", "--limit", "2", "--set", "MODEL_TEMPERATURE=0.3", "--json")

    submitted = json.loads(done.stdout)
    assert submitted["jobs"] == 2
    assert {name: (one["value"], one["source"]) for name, one in submitted["changed_settings"].items()} == {
        "MODEL_TEMPERATURE": (0.3, "option"),
        "BINARY_THRESHOLD": (12, "config"),
        "PREDICTION_MODE": ("total", "file"),
    }

    # Other files are found beside the one that names them.
    Path("elsewhere").mkdir()
    for name in ("set.jsonl", "qrels.tsv"):
        Path(name).rename(f"elsewhere/{name}")
    Path("elsewhere/run.toml").write_text('queries = "set.jsonl"\nqrels = "qrels.tsv"\ncorpus = "small"\n')
    assert json.loads(filled("submit", "--config", "elsewhere/run.toml", "--json").stdout)["jobs"] == 2


def test_what_a_file_cannot_say_is_refused_with_its_place(filled: Ragq) -> None:
    for text, problem in [
        ('splitt = "paper-test"', "`splitt` is no option of a submission. Did you mean 'split'?"),
        ('set = "A=1"', "`set` is no option of a submission."),
        ("[setings]\nA = 1", "`setings` is no option of a submission. Did you mean 'settings'?"),
        ("limit = [1]", "`limit` takes a text, a number, or true or false."),
        ("settings = 3", "`settings` is a table, which begins with [settings]."),
        ("[settings]\nretrieval.fusoin = 'rrf'", "is not a value of a preset. Did you mean 'retrieval.fusion'?"),
        ("[settings]\nMODEL_TEMPERATURE = [1]", "`MODEL_TEMPERATURE` takes a text, a number, or true or false."),
        ("split = ", "run.toml is not TOML: Invalid value (at end of document)."),
    ]:
        Path("run.toml").write_text(text)

        refused = filled("submit", "--config", "run.toml")

        assert isinstance(refused.exception, Refused)
        assert problem in str(refused.exception)


ZERO_SHOT = ("submit", "--participants", "303", "--zero-shot-only")


def test_notices_and_settings_of_a_run_that_is_waited_for_are_printed_once(filled: Ragq, stored: Stored) -> None:
    assert filled(*ZERO_SHOT, "--set", "BINARY_THRESHOLD=12").exit_code == 0
    stored(lambda connection: connection.execute("UPDATE job SET status = 'cancelled'"))

    done = filled(*ZERO_SHOT, "--set", "BINARY_THRESHOLD=12", "--wait")

    assert done.exit_code == 3
    assert (done.output.count("BINARY_THRESHOLD"), done.output.count("135M")) == (1, 1)


def test_a_run_that_is_stored_is_named_although_the_database_is_gone_then(filled: Ragq, database_url: str) -> None:
    with CommitProxy(database_url, answers=True) as proxy:
        done = filled(*ZERO_SHOT, env={"DATABASE_URL": proxy.url})

    assert (done.exit_code, done.stdout) == (0, "r3\n")
    assert "r3: 1 job submitted" in done.stderr


def test_evidence_that_does_not_fit_is_refused_with_every_problem(filled: Ragq) -> None:
    broken = {"PHQ8_Sleep": "text", "PHQ8_Tired": [1], "Moving": ["restless"]}
    Path("evidence.json").write_text(json.dumps({"303": broken, "302": {}}))

    refused = filled("submit", "--participants", "303,304", "--evidence", "evidence.json")

    _, *told = str(refused.exception).splitlines()
    problems = ["302 is not part", "1 key that no item", "PHQ8_Sleep: ex", "PHQ8_Tired: ex", "304 has no entry"]
    assert [words in line for words, line in zip(problems, told, strict=True)] == [True] * 5
