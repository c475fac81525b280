"""The chains, written once: what a job of each kind and mode runs, in order.

Each stage is one Celery task on the queue of its name, whatever the chain: stages of one name have one group of
workers.
"""

from collections.abc import Collection
from typing import Final, Literal, NamedTuple

from schemas.errors import Refused
from schemas.suggestions import did_you_mean
from schemas.values import corpora, participants, queries, references, scoring, tags
from schemas.values.base import Value

Group = Literal["model", "llm"]
"""Which workers take a stage: those that hold models in the process, or those that wait for a language model."""


class Stage(NamedTuple):
    """One step of a chain."""

    name: str
    group: Group
    output: type[Value]
    """What it stores; no other stage of the chain stores the same."""
    asks_llm: bool = False
    """It asks a language model, unless the settings or the inputs of the run make that unnecessary."""


_FEW_SHOT: Final = (
    Stage("extract", "llm", participants.ExtractedEvidence, asks_llm=True),
    Stage("embed", "model", participants.EmbeddedEvidence),
    Stage("retrieve", "model", participants.RetrievedReferences),
    Stage("rerank", "model", participants.RankedReferences),
    Stage("validate", "llm", participants.ValidatedReferences, asks_llm=True),
    Stage("assemble", "model", participants.AssembledPrompt),
    Stage("score", "llm", scoring.ParticipantScores, asks_llm=True),
)

CHAINS: Final[dict[tuple[str, str], tuple[Stage, ...]]] = {
    ("participant", "few_shot"): _FEW_SHOT,
    ("participant", "zero_shot"): tuple(stage for stage in _FEW_SHOT if stage.name in ("extract", "assemble", "score")),
    ("query", "answer"): (
        Stage("expand", "llm", queries.Expansion, asks_llm=True),
        Stage("embed", "model", queries.EmbeddedQuery),
        Stage("retrieve", "model", queries.RetrievedChunks),
        Stage("rerank", "model", queries.RerankedChunks),
        Stage("validate", "llm", queries.ValidatedChunks, asks_llm=True),
        Stage("consolidate", "model", queries.ConsolidatedContext),
        Stage("augment", "model", queries.AugmentedPrompt),
        Stage("generate", "llm", queries.Answer, asks_llm=True),
    ),
    ("tags", "candidates"): (
        Stage("embed", "model", tags.EmbeddedPhrases),
        Stage("retrieve", "model", tags.RetrievedTags),
        Stage("rerank", "model", tags.RankedTags),
        Stage("validate", "llm", tags.ValidatedTags),
    ),
    ("index", "references"): (
        Stage("chunk", "model", references.ChunkedTranscript),
        Stage("embed", "model", references.EmbeddedChunks),
        Stage("publish", "model", references.FinishedBatch),
    ),
    ("index", "chunk_scores"): (
        Stage("score", "llm", scoring.ChunkScores, asks_llm=True),
        Stage("publish", "model", references.FinishedBatch),
    ),
    ("index", "corpus"): (
        Stage("embed", "model", corpora.EmbeddedBatch),
        Stage("publish", "model", corpora.PublishedBatch),
    ),
    ("index", "tags"): (Stage("embed", "model", tags.BuiltVocabulary),),
}

_GROUP_OF: Final[dict[str, Group]] = {stage.name: stage.group for chain in CHAINS.values() for stage in chain}

STAGES: Final = tuple(_GROUP_OF)
"""Every name of a stage, once."""


def stages_of(kind: str, mode: str, *, until: str | None = None) -> tuple[str, ...]:
    """The stages of a job, in order; with `until`, those up to it. Raises Refused when the job has no such stage."""
    stages = tuple(stage.name for stage in CHAINS[kind, mode])
    if until is None:
        return stages
    if until not in stages:
        suggestion = did_you_mean(until, stages)
        raise Refused(
            f"A {kind} job in mode {mode} has no stage '{until}'.{suggestion} Its stages: {', '.join(stages)}."
        )
    return stages[: stages.index(until) + 1]


def stages_of_group(group: Group) -> tuple[str, ...]:
    """The stages that a group of workers takes."""
    return tuple(stage for stage in STAGES if _GROUP_OF[stage] == group)


def stage_that_stores(kind: str, mode: str, output: type[Value]) -> str:
    """The stage of a chain that stores this type of output."""
    return {stage.output: stage.name for stage in CHAINS[kind, mode]}[output]


def output_of(kind: str, mode: str, stage: str) -> type[Value] | None:
    """What a stage of a chain stores; None for a chain or a stage that is not listed here, or no longer."""
    chain = CHAINS.get((kind, mode), ())
    return next((listed.output for listed in chain if listed.name == stage), None)


def in_order(kind: str, stages: Collection[str]) -> list[str]:
    """Stages of a kind of job, whatever the modes they were met in, as the chain has them that has them all."""
    chains = (stages_of(*chain) for chain in CHAINS if chain[0] == kind)
    whole = min((chain for chain in chains if set(stages) <= set(chain)), key=len)
    return [stage for stage in whole if stage in stages]
