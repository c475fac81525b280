"""Stage `validate`: the contract of the candidates, checked."""

import math
from collections.abc import Iterator

from schemas.errors import DomainError, FailureCategory
from schemas.values.tags import Candidate, RankedTags, RetrievedTags, ValidatedTags, Vocabulary
from stages.tags.rerank import best_first, is_nsfw, is_rare


def validate_tags(
    ranked: RankedTags,
    *,
    retrieved: RetrievedTags,
    vocabulary: Vocabulary,
    allow_nsfw_tags: bool,
    min_tag_count: int,
    global_k: int,
) -> ValidatedTags:
    """The candidates unchanged, if they satisfy the contract. `vocabulary` has the candidates, looked up
    again. A required tag may be absent only if the list is full. Raises DomainError with every violation."""

    def violations() -> Iterator[str]:
        candidates = ranked.candidates
        tags = [candidate.tag for candidate in candidates]
        known = [vocabulary.by_name[tag] for tag in tags if tag in vocabulary.by_name]
        if foreign := len(tags) - len(known):
            yield f"{foreign} of {len(tags)} are not in the vocabulary"
        if not allow_nsfw_tags and (unsafe := sum(map(is_nsfw, known))):
            yield f"{unsafe} of {len(tags)} are not permitted"
        if rare := sum(is_rare(tag, min_tag_count) for tag in known):
            yield f"{rare} of {len(tags)} were used less than {min_tag_count} times"
        if repeated := len(tags) - len(set(tags)):
            yield f"{repeated} of {len(tags)} are repeated"
        if len(tags) > global_k:
            yield f"there are {len(tags)}, and {global_k} are allowed"
        if list(candidates) != sorted(candidates, key=best_first):
            yield "they are not in order"
        if outside := sum(not _is_bounded(candidate) for candidate in candidates):
            yield f"{outside} of {len(tags)} have a score that is not a number from -1 to 1"
        phrases = {found.normalized for found in retrieved.phrases}
        if sourceless := sum(
            not candidate.sources or not phrases.issuperset(candidate.sources) for candidate in candidates
        ):
            yield f"{sourceless} of {len(tags)} name no phrase of the request"
        if ranked.phrase_rank_by_tag.keys() != set(tags) or min(ranked.phrase_rank_by_tag.values(), default=1) < 1:
            yield "their ranks are those of other tags"
        required = {tag for found in retrieved.phrases for tag in found.required}
        absent = required.difference(tags)
        if absent and len(tags) < global_k:
            yield f"{len(absent)} of {len(required)} required tags are absent"

    if broken := "; ".join(violations()):
        raise DomainError(f"The candidates break their contract: {broken}.", FailureCategory.TAG_CONTRACT_BROKEN)
    return ValidatedTags(candidates=ranked.candidates, phrase_rank_by_tag=ranked.phrase_rank_by_tag)


def _is_bounded(candidate: Candidate) -> bool:
    scores = (score for name, score in candidate if name.startswith("score_"))
    return all(score is None or (math.isfinite(score) and -1 <= score <= 1) for score in scores)
