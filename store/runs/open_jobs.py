"""The states of jobs that work, or will by themselves, for statements."""

from typing import Final

OPEN_JOBS: Final = "('waiting', 'running', 'interrupted')"
