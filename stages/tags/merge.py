"""The lists of all phrases, merged."""

from collections import defaultdict
from collections.abc import Iterable, Sequence

from schemas.values.tags import Candidate, PhraseCandidate
from stages.tags.order import best_first


def merge(lists: Iterable[tuple[str, Sequence[PhraseCandidate]]], *, global_k: int) -> tuple[Candidate, ...]:
    """One candidate per tag, best first, at most `global_k`. A list is a normalised phrase and its candidates.

    Each score is its maximum over the lists, so the combined score need not result from the other two.
    """
    by_tag: dict[str, list[tuple[str, PhraseCandidate]]] = defaultdict(list)
    for phrase, candidates in lists:
        for candidate in candidates:
            by_tag[candidate.tag].append((phrase, candidate))
    merged = [_merged(tag, seen) for tag, seen in by_tag.items()]
    return tuple(sorted(merged, key=best_first)[:global_k])


def _merged(tag: str, seen: Sequence[tuple[str, PhraseCandidate]]) -> Candidate:
    candidates = [candidate for _, candidate in seen]
    return Candidate(
        tag=tag,
        title=candidates[0].title,
        score_combined=max(candidate.score_combined for candidate in candidates),
        score_context=_largest(candidate.score_context for candidate in candidates),
        score_fasttext=_largest(candidate.score_fasttext for candidate in candidates),
        score_similarity=_largest(candidate.score_similarity for candidate in candidates),
        score_characters=_largest(candidate.score_characters for candidate in candidates),
        score_sentence=_largest(candidate.score_sentence for candidate in candidates),
        score_spelling=_largest(candidate.score_spelling for candidate in candidates),
        count=candidates[0].count,
        sources=tuple(dict.fromkeys(phrase for phrase, _ in seen)),
    )


def _largest(scores: Iterable[float | None]) -> float | None:
    return max((score for score in scores if score is not None), default=None)
