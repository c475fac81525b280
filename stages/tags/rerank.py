"""Stage `rerank`: similarity and context as one score, each phrase's best tags, and all of them as one list."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final

import numpy as np

from schemas.values.tags import Candidate, PhraseReport, RankedTags, RetrievedTags, Tag, Vocabulary
from stages.ports import Vector
from stages.reports.words import counted
from stages.tags.similarity import context_score


def best_first(candidate: Candidate) -> tuple[float, int, str]:
    """A sort key: combined score down, count down, tag up; a missing count is 0."""
    return -candidate.score_combined, -(candidate.count or 0), candidate.tag


IMPUTED_QUANTILE = 0.10


def combined_score(similarity: float, score_context: float | None, *, context_weight: float) -> float:
    """The weighted mean of similarity and context; the similarity alone without a context.

    >>> combined_score(1.0, 0.5, context_weight=0.5), combined_score(0.9, 0.1, context_weight=0)
    (0.75, 0.9)
    """
    if score_context is None:
        return similarity
    return (1 - context_weight) * similarity + context_weight * score_context


def imputed_context(scores: Iterable[float | None]) -> float:
    """The context score of tags that have none: the 10th percentile of the others, linearly interpolated. 0 if no tag
    of the phrase has one.

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
    ranked: Sequence[Candidate], *, required: Collection[str], per_phrase_final_k: int | None
) -> tuple[Candidate, ...]:
    """The first `per_phrase_final_k`, in order, where required tags replace the last ones that are not required. None
    keeps those whose score is at least NEAR of the best one's, MOST_NEAR at most. If more tags are required than there
    are places, all are kept and the list is longer."""
    if per_phrase_final_k is None:
        near = [one for one in ranked[:MOST_NEAR] if one.score_combined >= NEAR * ranked[0].score_combined]
        per_phrase_final_k = max(len(near), 1)
    room = max(per_phrase_final_k - sum(candidate.tag in required for candidate in ranked), 0)
    others = [candidate.tag for candidate in ranked if candidate.tag not in required][:room]
    kept = {*required, *others}
    return tuple(candidate for candidate in ranked if candidate.tag in kept)


def merge(lists: Iterable[Sequence[Candidate]], *, global_k: int) -> tuple[Candidate, ...]:
    """One candidate per tag of the lists of phrases, best first, at most `global_k`. Each score is its maximum over the
    lists, so the combined score need not result from the other two."""
    by_tag: dict[str, list[Candidate]] = defaultdict(list)
    for candidates in lists:
        for candidate in candidates:
            by_tag[candidate.tag].append(candidate)
    return tuple(sorted(map(_merged, by_tag.values()), key=best_first)[:global_k])


def _merged(found: Sequence[Candidate]) -> Candidate:
    best = min(found, key=lambda one: (-one.score_combined, one.alias_token))
    names = [name for name in Candidate.model_fields if name.startswith("score_")]
    scores = {name: _largest(getattr(one, name) for one in found) for name in names}
    sources = dict.fromkeys(phrase for one in found for phrase in one.sources)
    return best.model_copy(update={**scores, "context_imputed": None, "sources": tuple(sources)})


def _largest(scores: Iterable[float | None]) -> float | None:
    return max((score for score in scores if score is not None), default=None)


def emptied(reports: Iterable[PhraseReport], *, min_tag_count: int) -> str | None:
    """Why phrases that led to tags have none, and what to change; None where the filters left each phrase one."""
    phrases = [one for one in reports if not one.candidates and one.too_rare + one.not_permitted]
    reasons = []
    if too_rare := sum(one.too_rare for one in phrases):
        rare = counted(too_rare, "tag")
        reasons.append(f"{rare} used less than {min_tag_count} times (PSQ_MIN_TAG_COUNT=0 keeps them)")
    if not_permitted := sum(one.not_permitted for one in phrases):
        unsafe = counted(not_permitted, "tag")
        reasons.append(f"{unsafe} not safe for work (`ragq submit --allow-nsfw` permits them)")
    return f"{counted(len(phrases), 'phrase')} without candidates: {', '.join(reasons)}." if phrases else None


USUAL: Final = 100
"""The minimum of the original application."""

SHARE: Final = 0.95
"""The share of a vocabulary's tags that must reach the usual minimum for it to apply."""


NSFW_FROM = 0.95
"""The probability from which a tag is not safe for work."""


def is_nsfw(tag: Tag) -> bool:
    """Whether the tag is not safe for work; an unrated tag is safe.

    >>> [is_nsfw(Tag(name="a", nsfw_probability=probability)) for probability in (0.95, 0.9499, None)]
    [True, False, False]
    """
    return tag.nsfw_probability is not None and tag.nsfw_probability >= NSFW_FROM


def named(token: str, vocabulary: Vocabulary) -> tuple[Tag, ...]:
    """The tag of this name, else the tags of this alias, else none; in alphabetical order. A token that is both is the
    tag. Aliases are followed once: a target that is not a tag is dropped."""
    tags = vocabulary.by_name
    names = (token,) if token in tags else vocabulary.aliases.get(token, ())
    return tuple(tags[name] for name in sorted(set(names)) if name in tags)


def is_rare(tag: Tag, min_tag_count: int) -> bool:
    """Whether the tag is used less than `min_tag_count` times; a missing count is 0."""
    return (tag.count or 0) < min_tag_count


def rank_tags(
    retrieved: RetrievedTags,
    *,
    context: Sequence[float] | None,
    rows: Mapping[str, Vector],
    context_weight: float,
    per_phrase_final_k: int | None,
    global_k: int,
) -> RankedTags:
    """Score every tag of every phrase, cut each phrase's list as `cut` does, merge the lists and cut the result.

    `rows` are the context rows of tags; a tag without one gets the 10th percentile of its phrase. Without `context`
    only similarity counts and no tag has a context score. Raises ValueError for a weight outside 0..1 and for a list
    length below 1.
    """
    if not 0 <= context_weight <= 1:
        raise ValueError(f"context_weight must be from 0 to 1, not {context_weight}")
    if (per_phrase_final_k is not None and per_phrase_final_k < 1) or global_k < 1:
        raise ValueError(
            f"list lengths must be at least 1: per_phrase_final_k={per_phrase_final_k}, global_k={global_k}"
        )
    scores: dict[str, float] | None = None
    if context is not None:
        of_request = np.asarray(context)
        found = {tag: context_score(of_request, rows[tag]) for tag in sorted(retrieved.tags & rows.keys())}
        scores = {tag: score for tag, score in found.items() if score is not None}
    reports = [_report(phrase, scores, context_weight=context_weight) for phrase in retrieved.phrases]
    lists = [cut(one.candidates, required=one.required, per_phrase_final_k=per_phrase_final_k) for one in reports]
    candidates = merge(lists, global_k=global_k)
    ranks = _best_ranks(reports)
    return RankedTags(
        candidates=candidates,
        phrase_reports=tuple(reports),
        phrase_rank_by_tag={candidate.tag: ranks[candidate.tag] for candidate in candidates},
    )


def _report(found: PhraseReport, contexts: Mapping[str, float] | None, *, context_weight: float) -> PhraseReport:
    default = 0.0 if contexts is None else imputed_context(contexts.get(one.tag) for one in found.candidates)
    candidates = []
    for one in found.candidates:
        context = None if contexts is None else contexts.get(one.tag, default)
        combined = combined_score(one.similarity, context, context_weight=context_weight)
        is_imputed = contexts is not None and one.tag not in contexts
        scored = {"score_context": context, "score_combined": combined, "context_imputed": is_imputed}
        candidates.append(one.model_copy(update=scored))
    return found.model_copy(update={"candidates": tuple(sorted(candidates, key=best_first))})


def _best_ranks(reports: Sequence[PhraseReport]) -> dict[str, int]:
    best: dict[str, int] = {}
    for report in reports:
        for rank, candidate in enumerate(report.candidates, start=1):
            best[candidate.tag] = min(rank, best.get(candidate.tag, rank))
    return best
