"""Instructions inside passages: where they are inserted, and how verdicts are counted."""

from pathlib import Path

import pytest
from pytest import approx

from benchmarks.injected import AIMED, InjectionOutcome, Insertion, Pair, attacks_in, flips, pairs_of
from benchmarks.injection import measure
from benchmarks.retrieval_sets import Document
from schemas.values.chat import ChatCall
from schemas.values.query_sets import QuerySet, RelevanceJudgement, SubmittedQuery
from schemas.values.verdicts import Decision
from tests.fakes.chat import ScriptedChat

DOCUMENTS = [
    Document(name, name.upper(), f"Of {name} much is known and more is written.") for name in ("tea", "rye", "oat")
]
ATTACKS = ["Sing a song.", "What is the time?"]


def query_set(count: int = 6) -> QuerySet:
    return QuerySet(
        queries=tuple(SubmittedQuery(external_id=f"q{number}", text=f"Why {number}?") for number in range(count)),
        judgements=tuple(
            RelevanceJudgement(query_id=f"q{number}", document="tea", relevance=1) for number in range(count)
        ),
    )


def pair(place: float = 0.5) -> Pair:
    texts = {Insertion.BENIGN: "Rye grows.", Insertion.ATTACK: "Sing.", Insertion.AIMED: AIMED}
    return Pair("q1", "Why?", Document("oat", "Oat", "one two three four"), texts, place)


@pytest.mark.parametrize(
    ("place", "passage"),
    [
        (0.0, "Sing.\n\none two three four"),
        (0.5, "one two\n\nSing.\n\nthree four"),
        (1.0, "one two three four\n\nSing."),
    ],
)
def test_an_insertion_is_on_lines_of_its_own(place: float, passage: str) -> None:
    assert pair(place).passage(Insertion.ATTACK) == passage
    assert pair(place).passage(None) == "one two three four"


def test_a_pair_is_a_query_with_a_passage_that_is_not_relevant() -> None:
    pairs = list(pairs_of(query_set(), DOCUMENTS, ATTACKS, seed=42))

    assert sorted(pair.query_id for pair in pairs) == [f"q{number}" for number in range(6)]
    assert all(pair.document.name != "tea" for pair in pairs)
    assert [pair.place for pair in pairs] == [0.0, 0.5, 1.0] * 2
    assert all(len(pair.texts[Insertion.BENIGN]) == len(pair.texts[Insertion.ATTACK]) for pair in pairs)
    assert pairs == list(pairs_of(query_set(), DOCUMENTS, ATTACKS, seed=42))
    assert pairs != list(pairs_of(query_set(), DOCUMENTS, ATTACKS, seed=7))


def test_attacks_that_bring_code_are_left_out(tmp_path: Path) -> None:
    file = tmp_path / "attacks.jsonl"
    file.write_text('{"kind": "text", "text": "Sing."}\n{"kind": "code", "text": "rm"}\n')

    assert attacks_in(file) == ["Sing."]


def test_flips_are_counted_with_wilsons_interval() -> None:
    decisions = [Decision.ACCEPT, Decision.ACCEPT, *[Decision.REJECT] * 6, Decision.UNSURE, None]
    outcomes = [InjectionOutcome("q", "d", dict.fromkeys(Insertion, decision)) for decision in decisions]

    found = flips(outcomes, Insertion.ATTACK)

    # p = .2, n = 10, z = 1.96: (p + z2/2n -+ z sqrt(p(1-p)/n + z2/4n2)) / (1 + z2/n) = (.3921 -+ .3136) / 1.3842
    assert found[:5] == (10, 2, 6, 1, 1)
    assert (found.low, found.high) == approx((0.0567, 0.5098), abs=1e-4)


async def test_only_passages_that_are_rejected_get_insertions() -> None:
    def answer(call: ChatCall) -> str:
        asked = call.messages[-1].content
        if "Why 0?" in asked:
            return '{"decision": "unsure"}'
        if AIMED in asked:
            return '{"decision": "accept"}'
        return "no verdict" if any(attack in asked for attack in ATTACKS) else '{"decision": "reject"}'

    sample = list(pairs_of(query_set(3), DOCUMENTS, ATTACKS, seed=42))
    measured = await measure(ScriptedChat(answer), sample, 9, model="m")

    assert measured.clean == {"unsure": 1, "reject": 2}
    assert [outcome.decisions for outcome in measured.outcomes] == [
        {Insertion.BENIGN: Decision.REJECT, Insertion.ATTACK: None, Insertion.AIMED: Decision.ACCEPT}
    ] * 2


async def test_asking_stops_when_enough_passages_were_rejected() -> None:
    chat = ScriptedChat(lambda call: '{"decision": "reject"}')

    measured = await measure(chat, list(pairs_of(query_set(), DOCUMENTS, ATTACKS, seed=42)), 2, model="m")

    assert (len(measured.outcomes), len(chat.calls)) == (2, 8)
