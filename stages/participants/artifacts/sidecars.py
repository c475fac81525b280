"""Tags and chunk scores: the files that are read only on request (Spec 38)."""

from collections.abc import Mapping
from typing import NamedTuple

from schemas.values.references import ChunkScoresMeta
from stages.participants.artifacts import chunk_scores, tags
from stages.participants.artifacts.chunk_scores import PROMPT_REMEDY, Scores, other_prompt, parse_chunk_scores
from stages.participants.artifacts.files import parse_sidecar
from stages.participants.artifacts.findings import Findings
from stages.participants.artifacts.names import ArtifactFile
from stages.participants.artifacts.rules import LoadRules
from stages.participants.artifacts.tags import Tags, parse_tags

_ABSENT = "was requested and is missing"


class ScoredChunks(NamedTuple):
    """The scores of the chunks, and their scorer."""

    scores: Scores
    meta: ChunkScoresMeta | None


def load_tags(files: Mapping[ArtifactFile, bytes], *, name: str, chunks: Mapping[int, int], findings: Findings) -> Tags:
    """The tags; a missing file is a problem. `chunks` counts the chunks of each participant."""
    file = f"{name}{ArtifactFile.TAGS}"
    if ArtifactFile.TAGS not in files:
        findings.refuse(file, _ABSENT, tags.REMEDY)
        return {}
    return findings.take(parse_tags(files[ArtifactFile.TAGS], file=file, chunks=chunks))


def load_chunk_scores(
    files: Mapping[ArtifactFile, bytes],
    *,
    name: str,
    chunks: Mapping[int, int],
    rules: LoadRules,
    findings: Findings,
) -> ScoredChunks:
    """The scores, whose prompt must be the current one; a missing file is a problem.

    Another prompt is only a warning if the rules accept it, which the description of the scores then records. With
    EMBEDDING_ALLOW_CHUNK_SCORES_PROMPT_HASH_MISMATCH another or an unknown prompt is only a warning as well.
    """
    file = f"{name}{ArtifactFile.CHUNK_SCORES}"
    scores: Scores = {}
    if ArtifactFile.CHUNK_SCORES in files:
        scores = findings.take(parse_chunk_scores(files[ArtifactFile.CHUNK_SCORES], file=file, chunks=chunks))
    else:
        findings.refuse(file, _ABSENT, chunk_scores.REMEDY)
    return ScoredChunks(scores, _load_meta(files, name=name, rules=rules, findings=findings))


def _load_meta(
    files: Mapping[ArtifactFile, bytes], *, name: str, rules: LoadRules, findings: Findings
) -> ChunkScoresMeta | None:
    file = f"{name}{ArtifactFile.CHUNK_SCORES_META}"
    if ArtifactFile.CHUNK_SCORES_META in files:
        data = files[ArtifactFile.CHUNK_SCORES_META]
        meta = findings.take(parse_sidecar(ChunkScoresMeta, data, file=file, what_to_do=chunk_scores.REMEDY))
        other = None if meta is None else other_prompt(meta)
    else:
        meta, other = None, _ABSENT
    if other and meta is not None and rules.accept_other_prompt:
        findings.warn(file, f"{other}; their prompt is recorded and shown with every run that uses the scores")
        meta = meta.model_copy(update={"other_prompt": True})
    elif other and rules.settings.embedding.allow_chunk_scores_prompt_hash_mismatch:
        findings.warn(file, f"{other}; the scores are used anyway")
    elif other:
        findings.refuse(file, other, PROMPT_REMEDY)
    if meta is not None and meta.source_embeddings not in (None, f"{name}{ArtifactFile.VECTORS}"):
        findings.warn(file, "the scores were made for an artifact of another name; check that it had the same chunks")
    return meta
