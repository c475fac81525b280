"""Requirements on an artifact when it is loaded."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from schemas.settings.run import RunSettings
from schemas.values.interviews import TranscriptVariant
from stages.participants.artifacts.names import ArtifactFile


class SplitIdentity(Protocol):
    """The identity of a split: hashes of its file, and of its participants in any order."""

    @property
    def csv_hash(self) -> str: ...
    @property
    def ids_hash(self) -> str: ...


@dataclass(frozen=True, kw_only=True)
class LoadRules:
    """Requirements on an artifact when it is loaded."""

    settings: RunSettings
    with_tags: bool = False
    """Read the tags, which are then required and must be valid."""
    with_chunk_scores: bool = False
    """Read the chunk scores, which are then required and must be valid."""
    accept_other_prompt: bool = False
    """Accept chunk scores by another prompt than ragq's; its hash stays with them."""
    default_split: str = "paper-train"
    """The training split of an artifact that does not name one."""
    default_variant: TranscriptVariant = TranscriptVariant.UNKNOWN
    """The transcript variant of an artifact that does not name one."""
    splits: Mapping[str, SplitIdentity] = field(default_factory=dict)
    """The current splits, by name; one that is absent is not compared."""

    @property
    def asked_for(self) -> Collection[ArtifactFile]:
        """The files that are read only on request, and are then required."""
        scores = (ArtifactFile.CHUNK_SCORES, ArtifactFile.CHUNK_SCORES_META)
        return ((ArtifactFile.TAGS,) if self.with_tags else ()) + (scores if self.with_chunk_scores else ())
