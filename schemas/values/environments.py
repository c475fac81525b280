"""The environment that a process runs in, as far as it may matter to results.

It names no host, no user and no folder: a report is passed on.
"""

from schemas.values.base import Value
from schemas.values.chat import ModelIdentity


class Environment(Value):
    """Versions, commit and hardware of a process."""

    ragq_version: str
    git_commit: str | None
    """The commit of the checkout that ragq is run from; None for an installed package."""
    git_dirty: bool | None
    """Whether the checkout had changes when the process started."""
    python: str
    platform: str
    packages: dict[str, str]
    """Versions of the installed packages that results depend on."""
    cpu: str | None
    cores: int | None
    gpus: tuple[str, ...]
    """The models of the graphics cards, as their driver names them."""


class RunEnvironment(Value):
    """An environment in which workers computed stages of a run."""

    stages: int
    """The stored stages that were computed there."""
    environment: Environment


class FrozenModel(Value):
    """A language model that a run is held to."""

    model: str
    identity: ModelIdentity
    is_from_submission: bool
    """Asked at submission; otherwise by the worker that called it first."""


class RunOrigin(Value):
    """Where a run was submitted and computed, and which models and servers answered it."""

    submitter: Environment | None = None
    """None where that was not recorded."""
    workers: tuple[RunEnvironment, ...] = ()
    """The distinct environments of the workers that computed its stored stages, most stages first."""
    models: tuple[FrozenModel, ...] = ()
    servers: tuple[str, ...] = ()
    """The servers whose answers it used, without secrets."""
