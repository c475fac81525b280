"""Problems of an artifact, reported in one error, and warnings."""

from typing import TypeVar

from schemas.errors import EmbeddingArtifactMismatchError
from schemas.values.interviews import FileProblem
from stages.files.records import Parsed
from stages.texts.ids import first_lines

T = TypeVar("T")


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
            lines = first_lines(self.problems)
            raise EmbeddingArtifactMismatchError(f"The reference artifact has {count}; nothing was imported.\n{lines}")
