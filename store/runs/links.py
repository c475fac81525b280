"""The links of the hash chain, checked one after another; the rows come from a database or from the file of a run."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

import rfc8785

from schemas.settings.preset_names import is_preset_name
from schemas.statuses import AttemptOutcome
from store.runs.chain import attempt_hash, content_hash

_HASHED_BY_VALUE: Final = frozenset({"participant", "query"})
"""Kinds of run whose hash of the settings is computed from nothing but their stored values."""


class Flaw(NamedTuple):
    """A difference between what is stored and its hashes."""

    job_id: int | None
    """None for a flaw of the run itself."""
    stage: str
    number: int
    what: str

    def __str__(self) -> str:
        if self.job_id is None:
            return self.what
        return f"j{self.job_id} {self.stage} attempt {self.number}: {self.what}"


class Link(NamedTuple):
    """An attempt as it is stored, with everything that its hash is computed from."""

    job_id: int
    stage: str
    number: int
    outcome: str
    settings_hash: str
    inputs: Mapping[str, Any] | None
    output_hash: str | None
    previous_hash: str | None
    hash: str | None
    error_type: str | None
    error_message: str | None
    is_output_as_stored: bool
    """Whether its output and vectors have the hash that was stored for them, as far as they are there."""


def chain_flaws(links: Iterable[Link]) -> Iterator[Flaw]:
    """Every flaw of these attempts, which are ordered by job and, within one, as they were added."""
    job_id: int | None = None
    previous: str | None = None
    for link in links:
        if link.job_id != job_id:
            job_id, previous = link.job_id, None
        for what in _differences(link, previous):
            yield Flaw(link.job_id, link.stage, link.number, what)
        if link.hash is not None:
            previous = link.hash


def _differences(link: Link, previous_hash: str | None) -> Iterator[str]:
    if link.hash is None:
        if link.outcome != AttemptOutcome.RUNNING:
            yield "it is closed and carries no hash"
        return
    if not link.is_output_as_stored:
        yield "its output or its vectors changed"
    if link.previous_hash != previous_hash:
        yield "the attempt before it changed, or is gone"
    if _recomputed(link) != link.hash:
        yield "its outcome, inputs, settings or error changed"


def _recomputed(link: Link) -> str | None:
    try:
        return attempt_hash(
            previous_hash=link.previous_hash,
            job_id=link.job_id,
            stage=link.stage,
            number=link.number,
            outcome=link.outcome,
            settings_hash=link.settings_hash,
            inputs=link.inputs,
            output_hash=link.output_hash,
            error_type=link.error_type,
            error_message=link.error_message,
        )
    except rfc8785.CanonicalizationError:
        # A number that JSON cannot carry exactly: no hash was ever computed from it.
        return None


def has_settings_hash(kind: str, settings: Mapping[str, Mapping[str, Any]], settings_hash: str) -> bool:
    """Whether the hash of a run is that of its settings, as far as it is computed from them alone."""
    values = {name: setting.get("value") for name, setting in settings.items()}
    if kind not in _HASHED_BY_VALUE or not values:
        return True
    own = {name: value for name, value in values.items() if not is_preset_name(name)}
    preset = {name: value for name, value in values.items() if is_preset_name(name)}
    return settings_hash in (content_hash(own), content_hash([own, preset]))
