"""The chains, written once.

A chain is a list of stage names. Each stage is one Celery task on the queue of its name, whatever the kind of job.
"""

from typing import Final

from schemas.errors import Refused

PIPELINES: Final[dict[tuple[str, str], tuple[str, ...]]] = {
    ("participant", "few_shot"): ("extract", "embed", "retrieve", "rerank", "validate", "assemble"),
    ("participant", "zero_shot"): ("extract", "assemble"),
    ("index", "references"): ("chunk", "embed", "publish"),
}

STAGES: Final[tuple[str, ...]] = tuple(dict.fromkeys(stage for stages in PIPELINES.values() for stage in stages))


def stages_of(kind: str, mode: str) -> tuple[str, ...]:
    """The stages of a job, in order. Raises Refused for a kind or mode that ragq does not know."""
    try:
        return PIPELINES[kind, mode]
    except KeyError:
        known = ", ".join(f"{kind} {mode}" for kind, mode in PIPELINES)
        raise Refused(f"There is no pipeline for a {kind} job in mode {mode}. Known: {known}.") from None
