"""Cuts the list of one phrase without dropping tags that the phrase names exactly."""

from collections.abc import Collection, Sequence
from typing import Final

from schemas.values.tags import PhraseCandidate

NEAR: Final = 0.6
MOST_NEAR: Final = 5
"""Of 281 aliases that the models of the GitHub topics had not seen, one tag found 80 %, every tag found (7 on average)
90 %, and these (3 on average) 90 % too. Chosen on 326 others: 86, 94 and 92 %."""


def cut(
    ranked: Sequence[PhraseCandidate], *, required: Collection[str], per_phrase_final_k: int | None
) -> tuple[PhraseCandidate, ...]:
    """The first `per_phrase_final_k`, in order, where required tags replace the last ones that are not required.

    None keeps those whose score is at least NEAR of the best one's, MOST_NEAR at most. If more tags are required than
    there are places, all are kept and the list is longer.
    """
    if per_phrase_final_k is None:
        near = [one for one in ranked[:MOST_NEAR] if one.score_combined >= NEAR * ranked[0].score_combined]
        per_phrase_final_k = max(len(near), 1)
    room = max(per_phrase_final_k - sum(candidate.tag in required for candidate in ranked), 0)
    others = [candidate.tag for candidate in ranked if candidate.tag not in required][:room]
    kept = {*required, *others}
    return tuple(candidate for candidate in ranked if candidate.tag in kept)
