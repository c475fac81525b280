"""`ragq report` and `ragq diff` over stored runs of queries."""

import json
from collections.abc import Callable
from math import log2
from pathlib import Path
from typing import Any

import pytest

from schemas.errors import Refused
from store.database import Connection
from tests.cli.conftest import Ragq
from tests.stages.reports.builders import labels, scores
from tests.store.query_runs import store_corpus, store_query_run
from tests.store.scored import import_labels, store_scored_run

FEW = ("--bootstrap-resamples", "20")
JUDGEMENTS = [("a", "d1", 1), ("b", "d2", 1), ("b", "d7", 1)]


async def two_runs(connection: Connection) -> tuple[int, int]:
    """The first run has `a` at rank 2, and loses `c`, which is not judged; the second has it at rank 1."""
    chunks = await store_corpus(connection, ["d1", "d2", "<script>"])
    one, two, other = chunks.values()
    seen = {"dense": [two, one], "lexical": [one], "fused": [two, one]}
    best = {"dense": [two, one], "lexical": [two], "fused": [two, one], "ranking": [two, one]}
    first = await store_query_run(
        connection,
        {"a": {**seen, "ranking": [two, one], "accepted": [two]}, "b": {**best, "accepted": [two]}, "c": None},
        JUDGEMENTS,
        settings={"retrieval.fusion": "rrf"},
    )
    second = await store_query_run(
        connection,
        {"a": {**seen, "ranking": [one, other]}, "b": best},
        JUDGEMENTS,
        settings={"retrieval.fusion": "zscore"},
    )
    return first, second


@pytest.fixture
def pair(stored: Callable[..., Any]) -> tuple[str, str]:
    first, second = stored(two_runs)
    return f"r{first}", f"r{second}"


def test_the_terminal_shows_a_line_per_ranking_and_which_queries_count(ragq: Ragq, pair: tuple[str, str]) -> None:
    shown = ragq("report", pair[0], *FEW).output

    lines = [line.split() for line in shown.splitlines()]
    # b finds one of two: its best order is 1 + 1/log2(3)
    fused = (1 / log2(3) + 1 / (1 + 1 / log2(3))) / 2
    assert ["fused", "2", "0", "2.0", f"{fused:.4f}", "0.7500", "0.7500", "0.1000", "0.7500"] in lines
    assert "2 of 3 queries are judged: 0 of these failed, 2 are unfinished." in shown
    assert "In no mean: 1 without a judgement." in shown
    assert "Relevant documents that the corpus does not have, missed in every recall: 1." in shown
    assert "precision of accept 0.500" in shown
    assert ["work_changed", "1"] in lines
    assert ["validate", "answer", "2", "none", "2", "json_parse"] in lines
    assert "Profile demo: a 135M model expands, judges and answers." in shown
    assert "ranker score-fusion" in shown


def test_another_cutoff_can_be_chosen(ragq: Ragq, pair: tuple[str, str]) -> None:
    found = json.loads(ragq("report", pair[0], "--json", "--cutoff", "1", *FEW).stdout, parse_constant=pytest.fail)

    fused = next(stage for stage in found["stages"] if stage["stage"] == "fused")
    assert fused["measures"]["ndcg@1"]["value"] == 0.5
    assert found["counts"]["judged"] == 2
    assert list(found["queries"][0]["stages"]) == ["dense", "lexical", "fused", "reranked", "selected"]


def test_the_page_is_self_contained_and_holds_no_text(ragq: Ragq, pair: tuple[str, str]) -> None:
    done = ragq("report", pair[0], "--html", "report.html", *FEW)

    written = Path("report.html").read_text()
    assert (done.stdout, done.stderr) == ("", "Wrote report.html.\n")
    assert written.count("<svg") == 5
    assert "http" not in written
    assert "text of the question" not in written


def test_the_difference_shows_deltas_settings_and_queries(ragq: Ragq, pair: tuple[str, str]) -> None:
    shown = ragq("diff", *pair, *FEW).output

    lines = [line.split() for line in shown.splitlines()]
    assert ["reranked", "mrr@10", "2", "0.7500", "1.0000", "0.2500"] in [line[:6] for line in lines]
    assert ["retrieval.fusion", "rrf", "zscore"] in lines
    assert ["a", "0.631", "1.000"] in lines
    assert f"Only in {pair[0]}: c" in shown


def test_the_difference_is_one_object_in_json(ragq: Ragq, pair: tuple[str, str]) -> None:
    found = json.loads(ragq("diff", *pair, "--json", *FEW).stdout, parse_constant=pytest.fail)

    assert (found["left"], found["right"], found["common_queries"]) == (*pair, 2)


async def scored(connection: Connection) -> int:
    await import_labels(connection, {316: labels("10")})
    return await store_scored_run(connection, {("zero_shot", 316): scores("11")})


def test_runs_of_two_kinds_are_not_compared(ragq: Ragq, pair: tuple[str, str], stored: Callable[..., Any]) -> None:
    refused = ragq("diff", pair[0], str(stored(scored))).exception

    assert isinstance(refused, Refused)
    assert "are of two kinds" in str(refused)


@pytest.mark.parametrize(
    "arguments",
    [
        ("report", "{}", "--confidence", "llm"),
        ("diff", "{}", "{}", "--mode", "few_shot"),
        ("diff", "{}", "{}", "--loss", "abs"),
    ],
)
def test_options_of_scored_runs_are_refused(ragq: Ragq, pair: tuple[str, str], arguments: tuple[str, ...]) -> None:
    refused = ragq(*(argument.format(pair[0]) for argument in arguments))

    assert refused.exit_code == 2
    assert "only for" in refused.stderr


def test_the_option_of_queries_is_refused_for_a_scored_run(ragq: Ragq, stored: Callable[..., Any]) -> None:
    refused = ragq("report", str(stored(scored)), "--cutoff", "5")

    assert refused.exit_code == 2
    assert "--cutoff: only for a run of queries." in refused.stderr
