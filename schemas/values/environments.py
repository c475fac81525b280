"""The environment that a process runs in, as far as it may matter to results.

It names no host, no user and no folder: a report is passed on.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Self

from schemas.example import Example
from schemas.values.model_identities import ModelIdentity
from schemas.values.plain import PlainValue


@dataclass(frozen=True, kw_only=True, slots=True)
class Environment(PlainValue):
    """Versions, commit and hardware of a process."""

    ragq_version: Annotated[str, Example("0.1.0")]
    git_commit: Annotated[str | None, Example(None)]
    """The commit of the checkout that ragq is run from; None for an installed package."""
    git_dirty: Annotated[bool | None, Example(None)]
    """Whether the checkout had changes when the process started."""
    python: Annotated[str, Example("3.12.4")]
    platform: Annotated[str, Example("Linux-6.8.0-x86_64-with-glibc2.39")]
    packages: Annotated[dict[str, str], Example({"numpy": "2.4.0"})]
    """Versions of the installed packages that results depend on."""
    cpu: Annotated[str | None, Example("AMD EPYC 7763")]
    cores: Annotated[int | None, Example(16)]
    gpus: Annotated[tuple[str, ...], Example(["NVIDIA A100-SXM4-80GB"])]
    """The models of the graphics cards, as their driver names them."""

    @classmethod
    def read(cls, stored: Mapping[str, Any]) -> Self:
        """From its JSON. Raises TypeError or KeyError for another."""
        return cls(**{**stored, "gpus": tuple(stored["gpus"])})


@dataclass(frozen=True, kw_only=True, slots=True)
class RunEnvironment(PlainValue):
    """An environment in which workers computed stages of a run."""

    stages: Annotated[int, Example(24)]
    """The stored stages that were computed there."""
    environment: Environment


@dataclass(frozen=True, kw_only=True, slots=True)
class FrozenModel(PlainValue):
    """A language model that a run is held to."""

    model: Annotated[str, Example("gemma3:27b")]
    identity: ModelIdentity
    is_from_submission: bool
    """Asked at submission; otherwise by the worker that called it first."""

    @classmethod
    def read(cls, stored: Mapping[str, Any]) -> Self:
        """From its JSON. Raises TypeError or KeyError for another."""
        return cls(**{**stored, "identity": ModelIdentity.read(stored["identity"])})


@dataclass(frozen=True, kw_only=True, slots=True)
class EmbeddedTexts(PlainValue):
    """Texts of a run that were embedded in one number format."""

    dtype: Annotated[str, Example("bfloat16")]
    """Empty where the embedder's server reports none."""
    texts: Annotated[int, Example(1492)]
    reused: Annotated[int, Example(1480)]
    """Those whose vectors were stored before, and were not computed again."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RunOrigin(PlainValue):
    """Where a run was submitted and computed, and which models and servers answered it."""

    submitter: Environment | None = None
    """None where that was not recorded."""
    workers: tuple[RunEnvironment, ...] = ()
    """The distinct environments of the workers that computed its stored stages, most stages first."""
    models: tuple[FrozenModel, ...] = ()
    servers: Annotated[tuple[str, ...], Example(["http://127.0.0.1:11434"])] = ()
    """The servers whose answers it used, without secrets."""
    embedded: tuple[EmbeddedTexts, ...] = ()
    """By number format; none of runs before it was recorded."""

    @classmethod
    def read(cls, stored: Mapping[str, Any]) -> Self:
        """From its JSON. Raises TypeError or KeyError for another."""
        submitter = stored["submitter"]
        return cls(
            submitter=None if submitter is None else Environment.read(submitter),
            workers=tuple(
                RunEnvironment(stages=one["stages"], environment=Environment.read(one["environment"]))
                for one in stored["workers"]
            ),
            models=tuple(map(FrozenModel.read, stored["models"])),
            servers=tuple(stored["servers"]),
            embedded=tuple(EmbeddedTexts(**one) for one in stored["embedded"]),
        )
