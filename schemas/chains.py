"""The chains, written once.

A chain is a list of stage names. Each stage is one Celery task on the queue of its name, whatever the kind of job.
"""

from collections.abc import Collection
from typing import Final

from schemas.errors import Refused

PIPELINES: Final[dict[tuple[str, str], tuple[str, ...]]] = {
    ("participant", "few_shot"): ("extract", "embed", "retrieve", "rerank", "validate", "assemble", "score"),
    ("participant", "zero_shot"): ("extract", "assemble", "score"),
    ("query", "answer"): (
        "expand",
        "embed",
        "retrieve",
        "rerank",
        "validate",
        "consolidate",
        "augment",
        "generate",
    ),
    ("tags", "candidates"): ("embed", "retrieve", "rerank", "validate"),
    ("index", "references"): ("chunk", "embed", "publish"),
    ("index", "chunk_scores"): ("score", "publish"),
    ("index", "corpus"): ("embed", "publish"),
    ("index", "tags"): ("embed",),
}

STAGES: Final[tuple[str, ...]] = tuple(dict.fromkeys(stage for stages in PIPELINES.values() for stage in stages))


def stages_of(kind: str, mode: str, *, until: str | None = None) -> tuple[str, ...]:
    """The stages of a job, in order; with `until`, those up to it. Raises Refused when the job has no such stage."""
    stages = PIPELINES[kind, mode]
    if until is None:
        return stages
    if until not in stages:
        raise Refused(f"A {kind} job in mode {mode} has no stage '{until}'. Its stages: {', '.join(stages)}.")
    return stages[: stages.index(until) + 1]


def in_order(kind: str, stages: Collection[str]) -> list[str]:
    """Stages of a kind of job, whatever the modes they were met in, as the chain has them that has them all."""
    chain = min((one for (of, _), one in PIPELINES.items() if of == kind and set(stages) <= set(one)), key=len)
    return [stage for stage in chain if stage in stages]
