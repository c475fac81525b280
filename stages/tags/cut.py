"""The list of one phrase, cut without losing the tags that the phrase names exactly."""

from collections.abc import Collection, Sequence

from schemas.values.tags import PhraseCandidate


def cut(
    ranked: Sequence[PhraseCandidate], *, required: Collection[str], per_phrase_final_k: int
) -> tuple[PhraseCandidate, ...]:
    """The first `per_phrase_final_k`, in order, where every required tag takes the place of the last one that is not.

    Of more required tags than places all stay: the list grows.
    """
    room = max(per_phrase_final_k - sum(candidate.tag in required for candidate in ranked), 0)
    others = [candidate.tag for candidate in ranked if candidate.tag not in required][:room]
    kept = {*required, *others}
    return tuple(candidate for candidate in ranked if candidate.tag in kept)
