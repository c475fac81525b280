"""What filters removed, in words."""

from schemas.values.tags import EmptiedPhrases
from stages.reports.numbers_in_words import counted


def in_words(emptied: EmptiedPhrases) -> str:
    """Why phrases that led to tags have none, and what to change.

    >>> in_words(EmptiedPhrases(phrases=1, too_rare=2, min_tag_count=100, not_permitted=0))
    '1 phrase without candidates: 2 tags used less than 100 times (PSQ_MIN_TAG_COUNT=0 keeps them).'
    """
    reasons = []
    if emptied.too_rare:
        rare = counted(emptied.too_rare, "tag")
        reasons.append(f"{rare} used less than {emptied.min_tag_count} times (PSQ_MIN_TAG_COUNT=0 keeps them)")
    if emptied.not_permitted:
        unsafe = counted(emptied.not_permitted, "tag")
        reasons.append(f"{unsafe} not safe for work (`ragq submit --allow-nsfw` permits them)")
    return f"{counted(emptied.phrases, 'phrase')} without candidates: {', '.join(reasons)}."
