"""Places where a worker can be made to die, so that tests of fault tolerance do not depend on timing.

`RAGQ_CRASH_AT=after_compute@validate#1` ends the process with SIGKILL when the first attempt of a `validate` stage
reaches that point. Stage and attempt may be left out: `after_claim` strikes everywhere, again and again.
"""

import os
import signal
from typing import Literal

Point = Literal["after_claim", "after_compute", "before_commit", "after_commit", "after_publish"]


def crash_point(point: Point, stage: str, attempt: int) -> None:
    """End this process if RAGQ_CRASH_AT names this point; usually do nothing."""
    wanted = os.environ.get("RAGQ_CRASH_AT")
    if not wanted:
        return
    place, _, number = wanted.partition("#")
    name, _, only_stage = place.partition("@")
    if name == point and only_stage in ("", stage) and number in ("", str(attempt)):
        os.kill(os.getpid(), signal.SIGKILL)
