"""The hash chain over attempts: each closed attempt carries the hash of the one closed before it in its job.

Hashes are SHA-256 over RFC 8785 JSON, so that any program can recompute them from the rows.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import rfc8785

from schemas.settings.preset import is_preset_name
from schemas.statuses import AttemptOutcome

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


# The package that implements it is written in Python and takes several times as long as the encoder of the standard
# library, which writes the same bytes but for very small and very large numbers, and the order of keys beyond the basic
# plane.

#: From here on, both write numbers differently, or refuse them.
_LARGEST: Final = 2**53
_SMALLEST_FRACTION: Final = 1e-4
_ENCODER: Final = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False)


class _WrittenOtherwise(ValueError):
    """The standard library would not write the value as RFC 8785 does."""


def canonical(value: Any) -> bytes:
    """The canonical form of a JSON value. Raises rfc8785.CanonicalizationError for a value that has none.

    >>> canonical({"b": [1, 2.0, None], "a": "é"}).decode()
    '{"a":"é","b":[1,2,null]}'
    """
    try:
        return _ENCODER.encode(_plain(value)).encode()
    except _WrittenOtherwise:
        return rfc8785.dumps(value)


def _plain(value: Any) -> Any:
    """The value with whole numbers as such, for which both write the same."""
    match value:
        case str() | bool() | None:
            return value
        case int() if -_LARGEST < value < _LARGEST:
            return value
        case float() if value.is_integer() and abs(value) < _LARGEST:
            return int(value)
        case float() if _SMALLEST_FRACTION <= abs(value) < _LARGEST:
            return value
        case list() | tuple():
            return [_plain(one) for one in value]
        case dict() if all(type(key) is str and (key.isascii() or max(key) <= "\uffff") for key in value):
            return {key: _plain(one) for key, one in value.items()}
    raise _WrittenOtherwise


def content_hash(content: Any, vectors: "NDArray[np.float32] | None" = None) -> str:
    """SHA-256 over a JSON value, and over the vectors stored beside it as little-endian float32."""
    digest = hashlib.sha256(canonical(content))
    if vectors is not None and vectors.size:
        digest.update(vectors.astype("<f4", order="C", copy=False).tobytes())
    return digest.hexdigest()


def stored_hash(text: str, vectors: bytes = b"") -> str | None:
    """`content_hash` of a JSON document in Postgres, and of the vectors beside it in the byte order of `vector_send`.

    None for a document that RFC 8785 cannot write, which was therefore never stored with a hash.
    """
    try:
        digest = hashlib.sha256(canonical(json.loads(text)))
    except rfc8785.CanonicalizationError:
        return None
    if vectors:
        import numpy as np

        digest.update(np.frombuffer(vectors, dtype=">f4").astype("<f4").tobytes())
    return digest.hexdigest()


def attempt_hash(
    *,
    previous_hash: str | None,
    job_id: int,
    stage: str,
    number: int,
    outcome: str,
    settings_hash: str,
    inputs: Mapping[str, Any] | None,
    output_hash: str | None = None,
    error_type: str | None = None,
    error_message: str | None = None,
) -> str:
    """The link that closes one attempt: without an output, or without an error."""
    return content_hash(
        {
            "previous_hash": previous_hash,
            "job_id": job_id,
            "stage": stage,
            "number": number,
            "outcome": outcome,
            "settings_hash": settings_hash,
            "inputs": inputs,
            "output_hash": output_hash,
            "error_type": error_type,
            "error_message": error_message,
        }
    )


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
    values = link._asdict()
    del values["hash"], values["is_output_as_stored"]
    try:
        return attempt_hash(**values)
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
