"""What is asked of an artifact when it is loaded."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from schemas.settings.run import RunSettings
from stages.participants.artifacts.names import ArtifactFile


class SplitIdentity(Protocol):
    """What identifies a split: its file, and its participants whatever their order."""

    @property
    def csv_hash(self) -> str: ...
    @property
    def ids_hash(self) -> str: ...


@dataclass(frozen=True, kw_only=True)
class LoadRules:
    """What is asked of an artifact when it is loaded."""

    settings: RunSettings
    with_tags: bool = False
    """Read the tags, which then have to be there and right."""
    with_chunk_scores: bool = False
    """Read the chunk scores, which then have to be there and right."""
    default_split: str = "paper-train"
    """The training split of an artifact that does not say."""
    splits: Mapping[str, SplitIdentity] = field(default_factory=dict)
    """The splits as they are now, by name; one that is absent is not compared."""

    @property
    def asked_for(self) -> Collection[ArtifactFile]:
        """The files that are read only because they were asked for, and may not be missing then."""
        scores = (ArtifactFile.CHUNK_SCORES, ArtifactFile.CHUNK_SCORES_META)
        return ((ArtifactFile.TAGS,) if self.with_tags else ()) + (scores if self.with_chunk_scores else ())
