"""Lists: which part of one is wanted, in words that its filters have."""

from pathlib import Path

import numpy as np
import pytest

from store.database import Connection
from tests.acceptance.wardrobe import write_wardrobe
from tests.cli.conftest import Ragq, Stored, json_of
from tests.services.questions.questions import WHOLE, a_question
from tests.stages.reports.builders import scores
from tests.store.scored import store_scored_run
from tests.store.small_corpora import SearchableChunk, store_waiting

CHUNKS, TAGS = ("work", "chunks", "2"), ("vocabulary", "tags", "wardrobe")


async def a_run_and_a_question(connection: Connection) -> None:
    await store_scored_run(connection, {("zero_shot", 316): scores("10")})
    await a_question(connection, *WHOLE[:-1])


@pytest.fixture
def everything(ragq: Ragq, stored: Stored, tmp_path: Path) -> None:
    """Runs of two kinds, a question of a corpus with one work, and a vocabulary."""
    stored(a_run_and_a_question)
    ragq("set", "r1", "--name", "baseline")
    assert ragq("import", "tags", str(write_wardrobe(tmp_path / "wardrobe"))).exit_code == 0


def test_a_part_is_json_of(ragq: Ragq, everything: None) -> None:
    for command, of_each, expected in [
        (("runs",), "id", [3, 1]),
        (("runs", "--limit", "1"), "id", [3]),
        (("runs", "--before", "3"), "id", [1]),
        (("runs", "--kind", "participant"), "id", [1]),
        (("runs", "--search", "BASE 1"), "id", [1]),
        (("runs", "--search", "baseline query"), "id", []),
        (("query", "list", "--status", "ready"), "id", [1]),
        (("query", "list", "--status", "needs_retrieval"), "id", []),
        (("query", "list", "--before", "1"), "id", []),
        (("work", "chunks", "1", "--limit", "1"), "level", ["H1-chunk"]),
        (("work", "chunks", "1", "--offset", "99"), "level", []),
        (("vocabulary", "tags", "wardrobe", "--search", "coa"), "name", ["coat"]),
    ]:
        assert [one[of_each] for one in json_of(ragq, *command)["items"]] == expected
        in_words = ragq(*command)
        assert (in_words.exit_code, in_words.stdout == "") == (0, not expected)


def test_a_list_says_what_follows_it(ragq: Ragq, stored: Stored, everything: None) -> None:
    vector = np.ones(2, dtype=np.float32)
    stored(store_waiting, [SearchableChunk(number, "Tea.", vector) for number in (71, 72, 73)], name="more")
    assert ragq("submit", "--query", "Why?", "--corpus", "small").exit_code == 0
    chunks, tags = [json_of(ragq, *of)["total"] for of in (CHUNKS, TAGS)]

    for command, end, rest in [
        (CHUNKS, ("--offset", str(chunks - 1)), f"{chunks} in all: --offset 1 shows the next.\n"),
        (TAGS, ("--offset", str(tags - 1)), f"{tags} in all: --offset 1 shows the next.\n"),
        (("runs",), ("--before", "4"), "There are older ones: --before 4 shows the next.\n"),
        (("query", "list"), ("--before", "2"), "2 in all: --before 2 shows the next.\n"),
    ]:
        last = ragq(*command, *end)
        assert [ragq(*command, "--limit", "1", *form).stderr for form in ((), ("--json",))] == [rest, rest]
        assert (last.exit_code, last.stdout == "", last.stderr) == (0, False, "")
    assert min(chunks, tags) > 1

    works = json_of(ragq, "corpus", "show", "small")["works"]
    assert (
        json_of(ragq, "corpus", "show", "small", "--search", works["items"][0]["title"][:3].lower())["works"] == works
    )
    assert json_of(ragq, "corpus", "show", "small", "--search", "zebra")["works"]["total"] == 0
