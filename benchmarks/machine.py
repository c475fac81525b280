"""The machine of a benchmark, which its results depend on."""

import os
import platform
import time
from collections.abc import Sequence
from importlib.metadata import version
from typing import NamedTuple


class Machine(NamedTuple):
    """A machine at one moment."""

    date: str
    cores: int
    load_1m: float
    """Load average of the last minute: other work that shared the cores."""
    python: str
    versions: dict[str, str]

    def sentence(self) -> str:
        """All of it in one line."""
        versions = ", ".join(f"{name} {number}" for name, number in self.versions.items())
        return f"{self.date}, {self.cores} cores, load {self.load_1m:.1f}, Python {self.python}, {versions}"


def this_machine(packages: Sequence[str]) -> Machine:
    """The machine now, with the installed versions of some packages."""
    return Machine(
        date=time.strftime("%Y-%m-%d %H:%M"),
        cores=os.cpu_count() or 1,
        load_1m=os.getloadavg()[0],
        python=platform.python_version(),
        versions={package: version(package) for package in packages},
    )
