"""Lists: which part of one is wanted, in words that its filters have."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from store.database import Connection
from tests.acceptance.wardrobe import write_wardrobe
from tests.cli.conftest import Ragq, Stored
from tests.services.questions.questions import WHOLE, a_question
from tests.stages.reports.builders import scores
from tests.store.scored import store_scored_run
from tests.store.small_corpora import SearchableChunk, store_waiting


async def a_run_and_a_question(connection: Connection) -> None:
    await store_scored_run(connection, {("zero_shot", 316): scores("10")})
    await a_question(connection, *WHOLE[:-1])


@pytest.fixture
def everything(ragq: Ragq, stored: Stored, tmp_path: Path) -> None:
    """Runs of two kinds, a question of a corpus with one work, and a vocabulary."""
    stored(a_run_and_a_question)
    ragq("set", "r1", "--name", "baseline")
    assert ragq("import", "tags", str(write_wardrobe(tmp_path / "wardrobe"))).exit_code == 0


def listed(ragq: Ragq, *command: str) -> Any:
    done = ragq(*command, "--json")
    assert done.exit_code == 0, done.stderr
    return json.loads(done.stdout)


def test_a_part_is_listed(ragq: Ragq, everything: None) -> None:
    for command, of_each, expected in [
        (("runs",), "run_id", ["r3", "r1"]),
        (("runs", "--limit", "1"), "run_id", ["r3"]),
        (("runs", "--before", "3"), "run_id", ["r1"]),
        (("runs", "--kind", "participant"), "run_id", ["r1"]),
        (("runs", "--search", "BASE 1"), "run_id", ["r1"]),
        (("runs", "--search", "baseline query"), "run_id", []),
        (("query", "list", "--status", "ready"), "id", [1]),
        (("query", "list", "--status", "needs_retrieval"), "id", []),
        (("query", "list", "--before", "1"), "id", []),
        (("work", "chunks", "1", "--limit", "1"), "level", ["H1-chunk"]),
        (("work", "chunks", "1", "--offset", "99"), "level", []),
        (("vocabulary", "tags", "wardrobe", "--search", "coa"), "name", ["coat"]),
    ]:
        assert [one[of_each] for one in listed(ragq, *command)] == expected
        in_words = ragq(*command)
        assert (in_words.exit_code, in_words.stdout == "") == (0, not expected)


@pytest.mark.parametrize("command", [("work", "chunks", "2"), ("vocabulary", "tags", "wardrobe")], ids=" ".join)
def test_a_part_says_how_many_follow_it(ragq: Ragq, stored: Stored, everything: None, command: tuple[str, ...]) -> None:
    vector = np.ones(2, dtype=np.float32)
    stored(store_waiting, [SearchableChunk(number, "Tea.", vector) for number in (71, 72, 73)], name="more")
    every = listed(ragq, *command, "--limit", "1000")

    first, last = ragq(*command, "--limit", "1"), ragq(*command, "--offset", str(len(every) - 1))

    assert len(every) > 1
    assert first.stderr == f"and {len(every) - 1} more; --offset 1 shows the next\n"
    assert (last.exit_code, last.stdout == "", last.stderr) == (0, False, "")
    assert ragq(*command, "--limit", "1", "--json").stderr == first.stderr


@pytest.mark.parametrize(("command", "newest"), [(("runs",), 4), (("query", "list"), 2)])
def test_the_newest_say_that_there_are_older_ones(
    ragq: Ragq, everything: None, command: tuple[str, ...], newest: int
) -> None:
    assert ragq("submit", "--query", "Why?", "--corpus", "small").exit_code == 0

    first, last = ragq(*command, "--limit", "1"), ragq(*command, "--before", str(newest))

    assert first.stderr == f"There are older ones: --before {newest} shows them.\n"
    assert (last.exit_code, last.stdout == "", last.stderr) == (0, False, "")
    assert ragq(*command, "--limit", "1", "--json").stderr == first.stderr


def test_works_of_a_corpus_are_found_by_their_words(ragq: Ragq, everything: None) -> None:
    (work,) = listed(ragq, "corpus", "show", "small")["works"]

    assert listed(ragq, "corpus", "show", "small", "--search", work["title"][:3].lower())["works"] == [work]
    assert listed(ragq, "corpus", "show", "small", "--search", "zebra")["works_found"] == 0


def test_what_no_filter_knows_is_refused_with_the_nearest(ragq: Ragq, everything: None) -> None:
    refused = ragq("runs", "--kind", "querry")

    assert (refused.exit_code, "Did you mean 'query'?" in refused.stderr) == (2, True)
