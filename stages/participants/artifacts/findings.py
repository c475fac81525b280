"""Problems of an artifact, reported in one error, and warnings."""

from collections.abc import Sequence
from typing import TypeVar

from schemas.errors import EmbeddingArtifactMismatchError
from schemas.values.interviews import FileProblem
from stages.files.problems import Parsed

T = TypeVar("T")

_SHOWN = 20


class Findings:
    """Collects the problems and warnings of all files, to be raised at the end."""

    def __init__(self) -> None:
        self.problems: list[FileProblem] = []
        self.warnings: list[str] = []

    def take(self, parsed: Parsed[T]) -> T:
        """The parsed value; its problems are collected."""
        self.problems += parsed.problems
        return parsed.value

    def refuse(self, file: str, found: str, what_to_do: str) -> None:
        """Add a problem."""
        self.problems.append(FileProblem(file=file, line=None, found=found, what_to_do=what_to_do))

    def warn(self, file: str, found: str) -> None:
        """Add a warning."""
        self.warnings.append(f"{file}: {found}")

    def raise_problems(self) -> None:
        """Raise EmbeddingArtifactMismatchError with a line for each problem, if there is any."""
        if self.problems:
            count = "1 mismatch" if len(self.problems) == 1 else f"{len(self.problems)} mismatches"
            lines = first_lines([str(problem) for problem in self.problems])
            raise EmbeddingArtifactMismatchError(f"The reference artifact has {count}; nothing was imported.\n{lines}")


def first_lines(lines: Sequence[str]) -> str:
    """The lines, indented; of many only the first, and the number of the others."""
    more = [f"and {len(lines) - _SHOWN} more"] if len(lines) > _SHOWN else []
    return "\n".join(f"  {line}" for line in (*lines[:_SHOWN], *more))
