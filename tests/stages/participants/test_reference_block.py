"""The reference block, to the byte (Specs 31 and 33)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.errors import InputChangedError
from schemas.values.participants import PHQ8Item, Reference
from stages.participants.assemble import PromptFormat
from tests.stages.at_defaults import reference_block
from tests.stages.participants.builders import reference

TEXTS = {1: "Ellie: sleep?\nParticipant: badly", 2: "worn out", 3: "fine"}


def to(chunk_id: int, score: int | None) -> Reference:
    return reference(TEXTS[chunk_id], chunk_id=chunk_id, score=score)


@pytest.mark.parametrize(
    "items", [{}, {PHQ8Item.SLEEP: ()}, {PHQ8Item.SLEEP: (to(1, None),), PHQ8Item.TIRED: (to(2, None), to(3, None))}]
)
def test_empty_bundle_is_the_empty_string(items: dict[PHQ8Item, tuple[Reference, ...]]) -> None:
    assert reference_block(items, TEXTS) == ""


def test_single_entry_keeps_a_chunk_of_several_lines_raw() -> None:
    assert reference_block({PHQ8Item.SLEEP: (to(1, 2),)}, TEXTS) == (
        "<Reference Examples>\n\n(PHQ8_Sleep Score: 2)\nEllie: sleep?\nParticipant: badly\n\n</Reference Examples>"
    )


@pytest.mark.parametrize(
    ("prompt_format", "entries", "empty"),
    [
        ("xml", "<Reference Examples>\n\n(PHQ8_Tired Score: 2)\nworn out\n\n</Reference Examples>", ""),
        (
            "sentinel",
            "<Reference Examples>\n\n(PHQ8_Tired Score: 2)\nworn out\n\n</Reference Examples>",
            "<Reference Examples>\nNo valid evidence found\n</Reference Examples>",
        ),
        (
            "notebook",
            "<Reference Examples>\n\n(PHQ8_Tired Score: 2)\nworn out\n\n<Reference Examples>",
            "<Reference Examples>\nNo valid evidence found\n<Reference Examples>",
        ),
    ],
)
def test_each_format_closes_the_block_and_stands_for_no_references_in_its_way(
    prompt_format: PromptFormat, entries: str, empty: str
) -> None:
    items = {PHQ8Item.TIRED: (to(2, 2),)}

    assert reference_block(items, TEXTS, prompt_format=prompt_format) == entries
    assert reference_block({}, TEXTS, prompt_format=prompt_format) == empty
    assert reference_block({PHQ8Item.TIRED: (to(2, None),)}, TEXTS, prompt_format=prompt_format) == empty


def test_none_score_skipped() -> None:
    both = reference_block({PHQ8Item.SLEEP: (to(1, None), to(2, 0))}, TEXTS)

    assert both == reference_block({PHQ8Item.SLEEP: (to(2, 0),)}, TEXTS)


def test_multi_item_order_is_that_of_the_questionnaire_and_within_an_item_that_of_retrieval() -> None:
    items = {PHQ8Item.TIRED: (to(3, 3), to(2, 1)), PHQ8Item.SLEEP: (), PHQ8Item.NO_INTEREST: (to(2, 0),)}

    assert reference_block(items, TEXTS) == (
        "<Reference Examples>\n\n"
        "(PHQ8_NoInterest Score: 0)\nworn out\n\n"
        "(PHQ8_Tired Score: 3)\nfine\n\n"
        "(PHQ8_Tired Score: 1)\nworn out\n\n"
        "</Reference Examples>"
    )


@pytest.mark.parametrize(("texts", "found"), [({}, "is gone"), ({1: "changed"}, "has another text now")])
def test_a_text_that_is_not_the_retrieved_one_raises_and_is_not_shown(texts: dict[int, str], found: str) -> None:
    with pytest.raises(InputChangedError, match=f"Chunk 1 of participant 1 {found} since it was retrieved"):
        reference_block({PHQ8Item.SLEEP: (to(1, 2),)}, texts)


@given(
    st.dictionaries(
        st.sampled_from(PHQ8Item),
        st.lists(st.tuples(st.integers(0, 99), st.text(), st.none() | st.integers(0, 3)), max_size=4),
    )
)
def test_any_bundle_follows_the_format(bundle: dict[PHQ8Item, list[tuple[int, str, int | None]]]) -> None:
    texts = {10_000 * at + number: text for at, item in enumerate(bundle) for number, text, _ in bundle[item]}
    items = {
        item: tuple(
            reference(texts[10_000 * at + number], chunk_id=10_000 * at + number, score=score)
            for number, _, score in bundle[item]
        )
        for at, item in enumerate(bundle)
    }

    expected = "<Reference Examples>\n\n"
    for item in PHQ8Item:
        for shown in items.get(item, ()):
            if shown.score is not None:
                expected += f"({item.evidence_key} Score: {shown.score})\n{texts[shown.chunk_id]}\n\n"
    expected += "</Reference Examples>"

    is_empty = all(shown.score is None for found in items.values() for shown in found)
    assert reference_block(items, texts) == ("" if is_empty else expected)
