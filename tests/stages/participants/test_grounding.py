"""Whether quotes are in the transcript (Spec 053)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.errors import EvidenceGroundingError
from schemas.values.participants import PHQ8Item
from stages.participants.extract import GroundedQuotes, keep_grounded, normalise
from tests.stages.at_defaults import GROUNDING

TRANSCRIPT = "Ellie: how do you sleep\nParticipant: um I don’t sleep <laughter> at all\nParticipant: it’s been weeks"

SUBSTRING = GROUNDING
FUZZY = SUBSTRING.model_copy(update={"mode": "fuzzy"})


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("“I’m” ‘fine’", "\"i'm\" 'fine'"),
        ("a\u00a0b \t\n c", "a b c"),
        ("zero\u200bwidth\u200c\u200d\ufeff", "zerowidth"),
        ("so <laughter> what<sigh>ever", "so what ever"),
        ("ﬁne … ＯＫ", "fine ... ok"),
        ("below < 5 days\nor > 3", "below < 5 days or > 3"),
        ("<laughter>", ""),
        ("", ""),
    ],
)
def test_normalising_removes_differences_that_models_introduce(text: str, normal: str) -> None:
    assert normalise(text) == normal


@pytest.mark.parametrize(
    ("quote", "is_kept"),
    [
        ("I don't sleep at all", True),
        ("I DON’T   SLEEP\nat all", True),
        ("at all Participant: it's been weeks", True),  # across lines, with the speaker's prefix
        ("at all it's been weeks", False),  # across lines, without it
        ("I never sleep", False),
        ("<laughter>", False),  # empty after normalising
    ],
)
def test_a_quote_is_kept_when_it_is_in_the_transcript(quote: str, is_kept: bool) -> None:
    grounded = keep_grounded({PHQ8Item.SLEEP: [quote]}, TRANSCRIPT, SUBSTRING)

    kept = GroundedQuotes({PHQ8Item.SLEEP: (quote,)}, {})
    assert grounded == (kept if is_kept else GroundedQuotes({PHQ8Item.SLEEP: ()}, {PHQ8Item.SLEEP: 1}))


@pytest.mark.parametrize(
    ("quote", "is_kept"),
    [
        ("I do not sleep at all", True),  # partial ratio .88
        ("I never sleep", False),  # .69
        ("um I don't sleep at all" + " and so on" * 30, False),  # longer than the transcript
    ],
)
def test_fuzzy_mode_also_keeps_approximate_quotes(quote: str, is_kept: bool) -> None:
    grounded = keep_grounded({PHQ8Item.SLEEP: [quote]}, TRANSCRIPT, FUZZY)

    assert grounded.quotes == {PHQ8Item.SLEEP: (quote,) if is_kept else ()}


def test_rejected_quotes_are_counted_per_item() -> None:
    quotes = {PHQ8Item.SLEEP: ["it's been weeks", "invented"], PHQ8Item.TIRED: ["made up", "too"], PHQ8Item.MOVING: []}

    assert keep_grounded(quotes, TRANSCRIPT, SUBSTRING) == GroundedQuotes(
        quotes={PHQ8Item.SLEEP: ("it's been weeks",), PHQ8Item.TIRED: (), PHQ8Item.MOVING: ()},
        rejected={PHQ8Item.SLEEP: 1, PHQ8Item.TIRED: 2},
    )


def test_all_rejected_raises_where_asked_without_showing_a_quote() -> None:
    check = SUBSTRING.model_copy(update={"fail_on_all_rejected": True})

    with pytest.raises(EvidenceGroundingError, match=r"^None of 2 extracted quotes is in the transcript\.$"):
        keep_grounded({PHQ8Item.SLEEP: ["invented", "made up"]}, TRANSCRIPT, check)


@given(st.text(alphabet=st.characters(exclude_characters="<>"), min_size=1), st.text(), st.text())
def test_a_quote_is_found_between_other_lines(quote: str, before: str, after: str) -> None:
    transcript = f"{before}\n{quote}\n{after}"

    grounded = keep_grounded({PHQ8Item.SLEEP: [quote]}, transcript, SUBSTRING)

    assert grounded.quotes == {PHQ8Item.SLEEP: (quote,) if normalise(quote) else ()}
