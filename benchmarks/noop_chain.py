"""The chain that every contestant runs: seven stages that do nothing."""

from typing import Final

from schemas.chains import STAGES

NOOP_STAGES: Final[tuple[str, ...]] = STAGES[:7]
"""Names of the product's own stages, so that its queues, tasks and reaper are measured as they are."""
