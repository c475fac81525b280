"""The hash chain over attempts: each closed attempt carries the hash of the one closed before it in its job.

Hashes are SHA-256 over RFC 8785 JSON, so that any program can recompute them from the rows.
"""

import hashlib
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import rfc8785

from store.runs.canonical import canonical

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


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
