"""The answer that is quoted from its sources."""

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from schemas.values.queries import Answer, Origin, Source
from stages.queries.extract_answer import MOST_UNITS, chosen_units, extracted_answer, most_lexical, units_of
from stages.texts.characters import fenced
from tests.fakes.embedder import FakeEmbedder
from tests.stages.queries.test_templates import AUGMENTED

WORDS = ("tea", "dark", "oxidation", "enzymes", "bridge", "load", "kind", "black", "fully", "milk")
TEA = (
    "## Oxidation\n\nOxidation makes the tea dark. It needs enzymes.\n\nTea likes milk."
    "\n\n| Kind | Oxidised |\n|---|---|\n| black | fully |\n| white | a little |"
)
BRIDGE = (
    "## Load\n\nA bridge bears a load [S9]. A bridge is long.\n\n- A load is heavy, as of a bridge.\n- A ship floats."
)


def word_counts(text: str) -> list[float]:
    counted = Counter(re.findall(r"[a-z]+", text.lower()))
    return [0.1, *(float(counted[word]) for word in WORDS)]


async def terms(texts: Sequence[str]) -> list[dict[str, int]]:
    return [dict(Counter(word for word in re.findall(r"[a-z]+", text.lower()) if len(word) > 3)) for text in texts]


async def answer_to(question: str, *sources: str) -> Answer:
    numbered = dict(enumerate(sources, start=1))
    usual: dict[str, Any] = {"title": "A work", "start_line": 1, "end_line": 9}
    head = "[S{0}] Source: A work | (work_id={0}, start-line=1, end-line=9)\nText:\n".format
    update = {
        "prompt": "\n\n".join(fenced(f"S{n}", head(n) + text) for n, text in numbered.items()),
        "sources": tuple(Source(label=f"S{n}", work_id=n, chunk_ids=(n,), **usual) for n in numbered),
    }
    augmented = AUGMENTED.model_copy(update=update)
    return await extracted_answer(question, augmented, (), embedder=FakeEmbedder(word_counts), terms=terms, timeout_s=9)


async def test_the_best_sentences_and_rows_are_quoted_with_their_source_and_what_they_point_to() -> None:
    answer = await answer_to("Which enzymes does it need?", BRIDGE, TEA)
    row = await answer_to("Which kind is black?", TEA)

    assert "Oxidation makes the tea dark. [S2] It needs enzymes. [S2]" in answer.response_text
    assert "| Kind | Oxidised |\n|---|---|\n| black | fully |\n\n[S1]" in row.response_text
    assert (answer.origin, answer.model) == (Origin.EXTRACTIVE, "extractive")
    assert set(answer.cited) <= {"S1", "S2"} and not answer.unknown_citations


def test_a_further_sentence_is_nearly_as_good_as_the_best_or_stands_beside_it() -> None:
    units = units_of(0, " ".join(f"Sentence number {place}0 is here." for place in range(1, 12)))
    vectors = np.eye(len(units), dtype=np.float32)

    def places(second: int, *, cosine: float = 0.0, lexical: float = 0.0, best_lexical: float = 2.0) -> list[int]:
        scores, cosines, words = np.full(len(units), -1.0), np.zeros(len(units)), np.zeros(len(units))
        scores[[0, second]], cosines[[0, second]], words[[0, second]] = (9, 1), (0.5, cosine), (best_lexical, lexical)
        return [unit.place for unit in chosen_units(units, scores, vectors, cosines=cosines, lexical=words)]

    assert places(1) == [0, 1]
    assert places(10, cosine=0.4, lexical=1.5) == [0, 10]
    assert places(10, cosine=0.4, best_lexical=0.0) == [0, 10], "no word of the question is in any"
    assert places(10, cosine=0.3, lexical=1.5) == places(10, cosine=0.4, lexical=1.3) == [0]


async def test_a_question_or_a_task_in_a_source_is_no_answer_unless_there_is_nothing_else() -> None:
    asked, task = "Why is black tea dark?", "- Explain why black tea is dark"
    objectives = f"By the end of this page, you will be able to:\n\n{task}"

    answer = await answer_to(asked, f"## Kinds\n\n- **{asked}**\n\n{asked} Oxidation makes the black tea dark.")
    taught = await answer_to(asked, f"{objectives}\n\nOxidation makes tea dark.\n\n- Black tea is dark by oxidation")

    assert answer.response_text == "Oxidation makes the black tea dark. [S1]"
    assert (await answer_to(asked, asked)).response_text == f"{asked} [S1]"
    assert "Explain" not in taught.response_text and "- Black tea is dark by oxidation [S1]" in taught.response_text
    assert task in (await answer_to(asked, objectives)).response_text


def test_items_and_code_are_whole_and_what_looks_like_a_citation_is_left_out() -> None:
    code = "```\nmake tea. make bridge.\n\nstop\n```"

    assert [unit.text for unit in units_of(0, f"{BRIDGE}\n\n{code}")] == [
        "A bridge is long.",
        "- A load is heavy, as of a bridge.",
        "- A ship floats.",
        code,
    ]


def test_of_very_many_sentences_those_with_the_terms_are_kept() -> None:
    units = units_of(0, "Some tea. " * MOST_UNITS + "A bridge. Or two.")
    counted = [{unit.text: 1} for unit in units]

    kept, of_kept = most_lexical(units, counted, {"A bridge."})

    assert (len(kept), len(of_kept), "A bridge." in {unit.text for unit in kept}) == (MOST_UNITS, MOST_UNITS, True)


@pytest.mark.parametrize(
    "hidden",
    [
        *("A load [S9].", "A load &#91;S9&#93;.", "A load &lbrack;S9].", r"A load \[S9].", r"A load [S9\]."),
        *("A load [S**9**].", "A load [S`x`9].", "[S1](https://a.example) a load.", "`[S1]` a load."),
        "```\na load that never ends",
    ],
)
async def test_a_source_cannot_cite_in_the_answer_nor_hide_its_own_label(hidden: str) -> None:
    assert units_of(0, hidden) == []

    answer = await answer_to("Which load?", f"{BRIDGE}\n\n{hidden}")
    assert (answer.cited, answer.unknown_citations) == (("S1",), ())
