"""Splits as they are stored, with how they were made."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple

from schemas.values.plain import PlainValue


class SplitAddress(NamedTuple):
    """A split of a data set, and the name by which commands find it."""

    data_set: str
    name: str
    called: str
    """The name, or DATA_SET/NAME where several data sets have a split of that name."""


class SplitMethod(StrEnum):
    """How a split was made."""

    FILE = "file"
    """Read from its CSV at an import of participants."""
    PUBLISHED = "published"
    """The participant ids that the paper's authors used."""
    STRATIFIED = "stratified"
    """Drawn by the paper's rule with a seed: participants other than the paper's."""
    LISTED = "listed"
    """Read from a file of ids that was named with `ragq splits make --from`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SplitOrigin(PlainValue):
    """How a split was made, stored with it."""

    method: SplitMethod
    seed: int | None = None
    file: str | None = None
    """The name of the file of ids."""
    missing: tuple[int, ...] = ()
    """Participants that belong to the split and were not stored when it was made, and are left out."""


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredSplit(PlainValue):
    """A split as it is stored."""

    data_set: str
    name: str
    called: str
    """As in SplitAddress."""
    participant_ids: tuple[int, ...]
    csv_hash: str
    ids_hash: str
    origin: SplitOrigin | None
    """None for a split that was imported before this was stored."""
    imported_at: datetime
