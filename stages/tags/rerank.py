"""Stage `rerank`: similarity and context as one score, each phrase's best tags, and all of them as one list."""

from collections.abc import Mapping, Sequence

import numpy as np

from schemas.values.tags import FoundForPhrase, PhraseCandidate, PhraseReport, RankedTags, RetrievedTags
from stages.tags.models import context_score
from stages.tags.ports import Vector
from stages.tags.ranking import best_first, combined_score, cut, imputed_context, merge


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
    scores = {} if context is None else _context_scores(retrieved, np.asarray(context), rows)
    reports = [
        _report(phrase, None if context is None else scores, context_weight=context_weight)
        for phrase in retrieved.phrases
    ]
    lists = [
        (report.normalized, cut(report.candidates, required=phrase.required, per_phrase_final_k=per_phrase_final_k))
        for phrase, report in zip(retrieved.phrases, reports, strict=True)
    ]
    candidates = merge(lists, global_k=global_k)
    ranks = _best_ranks(reports)
    return RankedTags(
        candidates=candidates,
        phrase_reports=tuple(reports),
        phrase_rank_by_tag={candidate.tag: ranks[candidate.tag] for candidate in candidates},
    )


def _context_scores(
    retrieved: RetrievedTags, context: np.ndarray[tuple[int], np.dtype[np.float64]], rows: Mapping[str, Vector]
) -> dict[str, float]:
    found = {tag: context_score(context, rows[tag]) for tag in sorted(retrieved.tags & rows.keys())}
    return {tag: score for tag, score in found.items() if score is not None}


def _report(found: FoundForPhrase, contexts: Mapping[str, float] | None, *, context_weight: float) -> PhraseReport:
    default = 0.0 if contexts is None else imputed_context(contexts.get(tag.tag) for tag in found.found)
    candidates = []
    for tag in found.found:
        context = None if contexts is None else contexts.get(tag.tag, default)
        combined = (
            tag.similarity
            if context is None
            else combined_score(tag.similarity, context, context_weight=context_weight)
        )
        candidates.append(
            PhraseCandidate(
                **dict(tag),
                score_context=context,
                score_combined=combined,
                context_imputed=contexts is not None and tag.tag not in contexts,
            )
        )
    return PhraseReport(
        phrase=found.phrase.phrase,
        normalized=found.phrase.normalized,
        lookup=found.phrase.lookup,
        tfidf_vocab=found.phrase.tfidf_vocab,
        oov_terms=found.phrase.oov_terms,
        candidates=tuple(sorted(candidates, key=best_first)),
        too_rare=found.too_rare,
        not_permitted=found.not_permitted,
    )


def _best_ranks(reports: Sequence[PhraseReport]) -> dict[str, int]:
    best: dict[str, int] = {}
    for report in reports:
        for rank, candidate in enumerate(report.candidates, start=1):
            best[candidate.tag] = min(rank, best.get(candidate.tag, rank))
    return best
