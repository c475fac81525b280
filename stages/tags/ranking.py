"""Lists of tags: their order, their scores, what filters leave of them, and what is merged."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from typing import Final, Protocol

import numpy as np

from schemas.values.tags import Candidate, EmptiedPhrases, Lexicon, PhraseCandidate, Tag
from stages.reports.numbers_in_words import counted


class Scored(Protocol):
    """A tag with a score."""

    @property
    def tag(self) -> str: ...
    @property
    def score_combined(self) -> float: ...
    @property
    def count(self) -> int | None: ...


def best_first(candidate: Scored) -> tuple[float, int, str]:
    """A sort key: combined score down, count down, tag up; a missing count is 0."""
    return -candidate.score_combined, -(candidate.count or 0), candidate.tag


IMPUTED_QUANTILE = 0.10


def combined_score(similarity: float, score_context: float, *, context_weight: float) -> float:
    """The weighted mean of similarity and context.

    >>> combined_score(1.0, 0.5, context_weight=0.5), combined_score(0.9, 0.1, context_weight=0)
    (0.75, 0.9)
    """
    return (1 - context_weight) * similarity + context_weight * score_context


def imputed_context(scores: Iterable[float | None]) -> float:
    """The context score of tags that have none: the 10th percentile of the others, linearly interpolated.

    0 if no tag of the phrase has one.

    >>> round(imputed_context([0.9, None, 0.2, 0.4]), 12)
    0.24
    """
    known = [score for score in scores if score is not None]
    return float(np.quantile(known, IMPUTED_QUANTILE)) if known else 0.0


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


USUAL: Final = 100
"""The minimum of the original application."""

SHARE: Final = 0.95
"""The share of a vocabulary's tags that must reach the usual minimum for it to apply."""


def least_count(*, tags: int, reaching: int) -> int:
    """The usual minimum if `reaching` of `tags` tags have it, and they are nearly all; otherwise 0, which drops none.

    >>> least_count(tags=100, reaching=95), least_count(tags=100, reaching=94), least_count(tags=0, reaching=0)
    (100, 0, 0)
    """
    return USUAL if tags and reaching >= SHARE * tags else 0


NSFW_FROM = 0.95
"""The probability from which a tag is not safe for work."""


def is_nsfw(tag: Tag) -> bool:
    """Whether the tag is not safe for work; an unrated tag is safe.

    >>> [is_nsfw(Tag(name="a", nsfw_probability=probability)) for probability in (0.95, 0.9499, None)]
    [True, False, False]
    """
    return tag.nsfw_probability is not None and tag.nsfw_probability >= NSFW_FROM


def permitted(tags: Iterable[Tag], *, allow_nsfw_tags: bool) -> tuple[Tag, ...]:
    """The tags that the request may get, in their order."""
    return tuple(tag for tag in tags if allow_nsfw_tags or not is_nsfw(tag))


def named(token: str, lexicon: Lexicon) -> tuple[Tag, ...]:
    """The tag of this name, else the tags of this alias, else none; in alphabetical order.

    A token that is both is the tag. Aliases are followed once: a target that is not a tag is dropped.
    """
    names = (token,) if token in lexicon.tags else lexicon.aliases.get(token, ())
    return tuple(lexicon.tags[name] for name in sorted(set(names)) if name in lexicon.tags)


def is_rare(tag: Tag, min_tag_count: int) -> bool:
    """Whether the tag is used less than `min_tag_count` times; a missing count is 0."""
    return (tag.count or 0) < min_tag_count


def project(token: str, lexicon: Lexicon, *, min_tag_count: int) -> tuple[Tag, ...]:
    """The tags that the token names, without rare ones."""
    return tuple(tag for tag in named(token, lexicon) if not is_rare(tag, min_tag_count))
