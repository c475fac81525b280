"""The models that servers have."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Self

from schemas.example import Example
from schemas.values.plain import PlainValue


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelIdentity(PlainValue):
    """The model behind a name on a server, as the server reports it."""

    backend: Annotated[str, Example("ollama")]
    server: Annotated[str, Example("http://127.0.0.1:11434")]
    """The server's URL without secrets, or the name that it gives itself."""
    model: Annotated[str, Example("gemma3:27b")]
    digest: Annotated[str, Example("a418f5838eaf")]
    """Identifies the exact weights; empty if the server reports none."""
    listed: Annotated[tuple[dict[str, Any], ...], Example([])] = ()
    """The entry of the server's own list of models, where it reports no digest: id, created, owned_by, meta.

    All entries when none has the name.
    """
    quantization: Annotated[str | None, Example("Q4_K_M")] = None
    """The number format of the weights, if the server reports it; part of what the digest identifies."""
    context_tokens: Annotated[int | None, Example(131072)] = None
    """The tokens of prompt and reply together that the server gives the model, as far as it says."""

    @classmethod
    def read(cls, stored: Mapping[str, Any]) -> Self:
        """From its JSON. Raises TypeError for another."""
        return cls(**{**stored, "listed": tuple(stored.get("listed", ()))})

    @property
    def weights(self) -> dict[str, str]:
        """What of it identifies the weights, whatever the address of the server."""
        return {"digest": self.digest, "listed": json.dumps(self.listed, sort_keys=True)}

    @property
    def key(self) -> dict[str, str]:
        """What of it decides whether two answers may be exchanged."""
        return {"backend": self.backend, "server": self.server, "model": self.model} | self.weights

    @property
    def words(self) -> str:
        """The model for people: its digest, or its entries in the server's list, and the server."""
        if self.digest:
            return f"digest {self.digest} at {self.server}"
        entries = ", ".join(json.dumps(entry, sort_keys=True) for entry in self.listed)
        return f"{entries or 'no entry in the list of models'} at {self.server}"
