"""Headings and sections decided by replies: what is read, what is refused, and what follows for other sections."""

from collections.abc import Mapping

import pytest

from schemas.errors import ReplyShapeError
from schemas.values.chat import ChatCall, ReaskReason
from schemas.values.documents import DecidedBy, Heading, RepairAction
from stages.documents.outline import outline
from stages.documents.repair import HEADINGS_OF_A_CALL, repair_by_model, repair_by_reply, sanitise
from stages.documents.select import sections_of, select_by_model, select_by_reply, select_by_rules
from stages.queries.templates import TemplateTag, default_template
from tests.fakes.chat import ScriptedChat, replying
from tests.stages.at_defaults import settings

HEADINGS = (
    Heading(line=1, level=1, text="Tea"),
    Heading(line=3, level=3, text="1.1 Lcaves", toc_level=2),
    Heading(line=5, level=1, text="Page 7"),
)
REPLY = "1 : NO_CHANGE : Tea\n3 : H2 : 1.1 Leaves: green\n5 : REMOVE : Page 7\n"


def repaired(place: int, action: RepairAction, level: int | None, text: str | None) -> Heading:
    return HEADINGS[place].model_copy(update={"action": action, "repaired_level": level, "repaired_text": text})


REPAIRS = (
    repaired(0, RepairAction.NO_CHANGE, 1, "Tea"),
    repaired(1, RepairAction.H2, 2, "1.1 Leaves: green"),
    repaired(2, RepairAction.REMOVE, None, None),
)
BOOK = "# Tea\n\nA drink.\n\n## Leaves\n\nGreen.\n\n### Black\n\nBrown.\n\n## References\n\nLeaf 3.\n\n### A\n\n2.\n"
SECTIONS = sections_of(BOOK)
REPAIR_TEMPLATE = default_template(TemplateTag.TITLE_REPAIR)
SELECT_TEMPLATE = default_template(TemplateTag.SECTION_SELECTION)
SETTINGS = settings(ragq={"document_model": "m", "reply_retries": 1})


def test_a_reply_gives_each_heading_its_repair() -> None:
    for reply in (REPLY, f"```\n{REPLY}```\n", REPLY.replace("\n", "\r\n\r\n"), REPLY.replace(" : ", ":")):
        assert repair_by_reply(reply, HEADINGS) == REPAIRS


@pytest.mark.parametrize(
    ("reply", "problem"),
    [
        ("", "it has no line for the headings 1, 3, 5"),
        (REPLY.replace("5 :", "6 :"), "it names lines that are no heading: 6"),
        (REPLY + "1 : H1 : Tea", "it names lines twice: 1"),
        (f"Here they are:\n{REPLY}", "its lines 1 have not the form NUMBER"),
        (REPLY.replace("NO_CHANGE", "KEEP"), "its lines 1 have not the form NUMBER"),
        (REPLY.replace("1 :", "one :"), "its lines 1 have not the form NUMBER"),
        (REPLY.replace("3 :", f"{'3' * 5000} :"), "its lines 2 have not the form NUMBER"),
        (REPLY.replace("3 :", "\N{SUPERSCRIPT THREE} :"), "its lines 2 have not the form NUMBER"),
        (REPLY.replace("H2", "H5"), "its lines 2 have not the form NUMBER"),
        (REPLY.replace("1.1 Leaves: green", "---"), "the words of the headings 3 are no title"),
        (REPLY.replace("green", "green" * 100), "the words of the headings 3 are no title"),
        (REPLY.replace("green", "gre\0en"), "the words of the headings 3 are no title"),
    ],
)
def test_a_reply_that_cannot_be_used_is_refused_without_its_words(reply: str, problem: str) -> None:
    with pytest.raises(ReplyShapeError, match=problem) as refusal:
        repair_by_reply(reply, HEADINGS)

    assert "Leaves" not in str(refusal.value) and "Here" not in str(refusal.value)


async def test_a_model_repairs_headings_and_is_asked_again_after_a_reply_that_cannot_be_used() -> None:
    chat = replying("I cannot.", REPLY)

    found = await repair_by_model(HEADINGS, (), template=REPAIR_TEMPLATE, chat=chat, settings=SETTINGS)

    assert (found.headings, found.by, found.model) == (REPAIRS, DecidedBy.MODEL, "m")
    assert found.reasks == (ReaskReason.SCHEMA_VALIDATION,)
    assert "have not the form" in chat.calls[1].messages[-1].content


async def test_many_headings_are_repaired_in_parts_that_show_the_end_of_the_part_before() -> None:
    headings = [Heading(line=place, level=1, text=f"Part {place}") for place in range(1, HEADINGS_OF_A_CALL + 2)]

    def answer(call: ChatCall) -> str:
        is_first = "\n1 : H1 : Part 1\n" in call.messages[-1].content
        asked = headings[:HEADINGS_OF_A_CALL] if is_first else headings[HEADINGS_OF_A_CALL:]
        return "\n".join(f"{heading.line} : H2 : {heading.text}" for heading in asked)

    chat = ScriptedChat(answer)
    found = await repair_by_model(headings, (), template=REPAIR_TEMPLATE, chat=chat, settings=SETTINGS)

    assert [heading.line for heading in found.headings] == [heading.line for heading in headings]
    assert [call.purpose for call in chat.calls] == ["repair headings 1 to 100", "repair headings 101 to 101"]
    assert f"\n{HEADINGS_OF_A_CALL} : H2 : Part {HEADINGS_OF_A_CALL}\n" in chat.calls[1].messages[-1].content


def test_a_change_of_one_heading_leaves_the_others_and_keeps_its_words() -> None:
    assert repair_by_reply("3 : H3\n5 : H1 : Pot  tea ", REPAIRS) == (
        REPAIRS[0],
        repaired(1, RepairAction.H3, 3, "1.1 Lcaves"),
        repaired(2, RepairAction.H1, 1, "Pot tea"),
    )


def test_headings_whose_words_stay_keep_their_markup() -> None:
    markdown = "# Use of `*args*` #\n\nText.\n\nA *second*\none\n===\n\n#1 of\nall\n===\n"
    headings = outline(markdown, ()).headings
    kept = {heading.line: heading.text for heading in headings}
    assert kept == {1: "Use of *args*", 5: "A second one", 9: "#1 of all"}

    repaired = repair_by_reply("\n".join(f"{line} : H3" for line in kept), headings)
    made = sanitise(markdown, repaired, ())

    found = {heading.line: (heading.level, heading.text) for heading in outline(made.markdown, ()).headings}
    assert found == {heading.work_line: (3, heading.text) for heading in made.headings}
    assert "A *second* one" in made.markdown


def embedded(skipped: Mapping[int, str]) -> list[bool]:
    return [section.start_line not in skipped for section in SECTIONS]


def test_skipped_sections_skip_those_inside_and_embedded_keep_those_around() -> None:
    expected = {
        "": [True, True, True, True, True],
        "13 : SKIP": [True, True, True, False, False],
        "13 : SKIP\n17 : VECTORIZE : A": [True, True, True, True, True],
        "1 : SKIP\n5 : SKIP\n13 : SKIP": [False, False, False, False, False],
        "1 : SKIP\n9 : VECTORIZE": [True, True, True, False, False],
    }
    skipped = {reply: select_by_reply(reply, SECTIONS, by=DecidedBy.PASTED) for reply in expected}

    assert {reply: embedded(lines) for reply, lines in skipped.items()} == expected
    assert {reason for lines in skipped.values() for reason in lines.values()} == {"skipped by the pasted reply"}


async def test_a_model_selects_sections() -> None:
    chat = ScriptedChat(lambda call: "13 : SKIP")

    selected = await select_by_model(SECTIONS, template=SELECT_TEMPLATE, chat=chat, settings=SETTINGS)

    reason = "skipped by the model"
    assert (selected.skipped, selected.by) == ({13: reason, 17: reason}, DecidedBy.MODEL)


def test_a_change_takes_what_is_inside_with_it_and_what_is_around() -> None:
    by_rules = select_by_rules(SECTIONS)
    assert embedded(by_rules) == [True, True, True, False, False]

    expected = {
        "13 : VECTORIZE": [True] * 5,
        "5 : SKIP": [True, False, False, False, False],
        "1 : SKIP": [False] * 5,
        "17 : VECTORIZE": [True] * 5,
    }
    for reply, embeds in expected.items():
        assert embedded(select_by_reply(reply, SECTIONS, by=DecidedBy.USER, former=by_rules)) == embeds
