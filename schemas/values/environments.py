"""The environment that a process runs in, as far as it may matter to results.

It names no host, no user and no folder: a report is passed on.
"""

from schemas.values.base import Value


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
