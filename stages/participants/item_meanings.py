"""The descriptions of the eight symptoms and the four scores in every prompt of a participant job."""

from collections.abc import Mapping

from schemas.values.phq8 import PHQ8Item

MEANINGS: Mapping[PHQ8Item, str] = {
    PHQ8Item.NO_INTEREST: "less interest in things, or less joy in them, than usual",
    PHQ8Item.DEPRESSED: "low mood, sadness, hopelessness",
    PHQ8Item.SLEEP: "trouble getting to sleep or sleeping through, or far too much sleep",
    PHQ8Item.TIRED: "tiredness, hardly any energy",
    PHQ8Item.APPETITE: "poor appetite, or eating too much",
    PHQ8Item.FAILURE: "thinking badly of oneself, feeling a failure or a disappointment to others",
    PHQ8Item.CONCENTRATING: "trouble keeping one's mind on something, such as reading or a film",
    PHQ8Item.MOVING: "moving or speaking so slowly that others notice, or being unusually restless",
}

SCORES: Mapping[int, str] = {
    0: "not at all (0-1 of the last 14 days)",
    1: "several days (2-6)",
    2: "more than half of the days (7-11)",
    3: "nearly every day (12-14)",
}


def item_list() -> str:
    """One line per item, in the order of the questionnaire: `- PHQ8_Sleep: trouble ...`."""
    return "\n".join(f"- {item.evidence_key}: {MEANINGS[item]}" for item in PHQ8Item)


def score_list() -> str:
    """One line per score, from 0: `0 = not at all ...`."""
    return "\n".join(f"{score} = {meaning}" for score, meaning in SCORES.items())
