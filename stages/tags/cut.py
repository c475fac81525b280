"""Cuts the list of one phrase without dropping tags that the phrase names exactly."""

from collections.abc import Collection, Sequence

from schemas.values.tags import PhraseCandidate


def cut(
    ranked: Sequence[PhraseCandidate], *, required: Collection[str], per_phrase_final_k: int
) -> tuple[PhraseCandidate, ...]:
    """The first `per_phrase_final_k`, in order, where required tags replace the last ones that are not required.

    If more tags are required than there are places, all are kept and the list is longer.
    """
    room = max(per_phrase_final_k - sum(candidate.tag in required for candidate in ranked), 0)
    others = [candidate.tag for candidate in ranked if candidate.tag not in required][:room]
    kept = {*required, *others}
    return tuple(candidate for candidate in ranked if candidate.tag in kept)
