"""The environment that a process runs in, as far as it may matter to results.

It names no host, no user and no folder: a report is passed on.
"""

from pydantic import Field

from schemas.values.base import Value
from schemas.values.chat import ModelIdentity


class Environment(Value):
    """Versions, commit and hardware of a process."""

    ragq_version: str = Field(examples=["0.1.0"])
    git_commit: str | None = Field(examples=[None])
    """The commit of the checkout that ragq is run from; None for an installed package."""
    git_dirty: bool | None = Field(examples=[None])
    """Whether the checkout had changes when the process started."""
    python: str = Field(examples=["3.12.4"])
    platform: str = Field(examples=["Linux-6.8.0-x86_64-with-glibc2.39"])
    packages: dict[str, str] = Field(examples=[{"numpy": "2.4.0"}])
    """Versions of the installed packages that results depend on."""
    cpu: str | None = Field(examples=["AMD EPYC 7763"])
    cores: int | None = Field(examples=[16])
    gpus: tuple[str, ...] = Field(examples=[["NVIDIA A100-SXM4-80GB"]])
    """The models of the graphics cards, as their driver names them."""


class RunEnvironment(Value):
    """An environment in which workers computed stages of a run."""

    stages: int = Field(examples=[24])
    """The stored stages that were computed there."""
    environment: Environment


class FrozenModel(Value):
    """A language model that a run is held to."""

    model: str = Field(examples=["gemma3:27b"])
    identity: ModelIdentity
    is_from_submission: bool
    """Asked at submission; otherwise by the worker that called it first."""


class EmbeddedTexts(Value):
    """Texts of a run that were embedded in one number format."""

    dtype: str = Field(examples=["bfloat16"])
    """Empty where the embedder's server reports none."""
    texts: int = Field(examples=[1492])
    reused: int = Field(examples=[1480])
    """Those whose vectors were stored before, and were not computed again."""


class RunOrigin(Value):
    """Where a run was submitted and computed, and which models and servers answered it."""

    submitter: Environment | None = None
    """None where that was not recorded."""
    workers: tuple[RunEnvironment, ...] = ()
    """The distinct environments of the workers that computed its stored stages, most stages first."""
    models: tuple[FrozenModel, ...] = ()
    servers: tuple[str, ...] = Field(default=(), examples=[["http://127.0.0.1:11434"]])
    """The servers whose answers it used, without secrets."""
    embedded: tuple[EmbeddedTexts, ...] = ()
    """By number format; none of runs before it was recorded."""
