"""What an upload would do, and the works that are removed, as JSON."""

from typing import Annotated, Final, Literal

from pydantic import Field

from api.rest.bodies.base import Body, Reply, with_example
from api.rest.bodies.corpora import CorpusName, DescribedBody, FileName
from api.work_uploads import relative_name
from schemas.values.estimates import Estimate
from services.import_estimates import ImportEstimates
from services.import_plans import ImportPlan, ListedFile, PlannedFile
from store.corpora.keeping import ImportOutcome
from store.corpora.sources import WorkSource

#: Files of one plan; they may go to several imports.
MAX_LISTED: Final = 5000
#: Works of one removal.
MAX_REMOVED: Final = 1000

#: Every reader of JSON keeps whole numbers exactly up to here.
_MOST: Final = 2**53 - 1
_TEA: Final = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"


class ListedFileBody(DescribedBody):
    """A file, without its content."""

    file_name: FileName = Field(examples=["tea.md"])
    """Identifies the work, with folders where it has some."""
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$", examples=[_TEA])]
    """Of the file, in hexadecimal; of markdown without a byte order mark."""
    size: Annotated[int, Field(ge=0, le=_MOST, examples=[4096])]
    """In bytes."""

    @property
    def listed(self) -> ListedFile:
        """The file as the plan takes it."""
        return ListedFile(relative_name(self.file_name), self.sha256, self.size, self.given)


class ImportPlanBody(Body):
    """Files that may be uploaded into a corpus, which need not be there yet."""

    model_config = with_example(corpus="default", files=[{"file_name": "tea.md", "sha256": _TEA, "size": 4096}])

    corpus: CorpusName
    files: Annotated[list[ListedFileBody], Field(max_length=MAX_LISTED)]
    """All files of a folder, for `without_file` to be right about it."""
    by_stages: bool = False
    """As it will be for the import."""


class PlannedFileReply(Reply):
    """What would become of a file."""

    file_name: str = Field(examples=["tea.md"])
    outcome: ImportOutcome | Literal["refused"] = Field(examples=["replaced"])
    """An `unchanged` file need not be sent."""
    work_id: int | None = Field(examples=[7])
    """The work that it is, or the other work that has its text; null for a new one."""
    reason: str | None = Field(examples=[None])
    """Why it would be refused."""

    @classmethod
    def of(cls, file: PlannedFile) -> "PlannedFileReply":
        """The reply about a file."""
        return cls(
            file_name=file.source_path,
            outcome=file.outcome or "refused",
            work_id=None if file.work is None else file.work.id,
            reason=file.reason,
        )


class WorkSourceReply(Reply):
    """A work and the file that it came from."""

    id: int = Field(examples=[9])
    title: str = Field(examples=["Bridges"])
    source_path: str = Field(examples=["bridges.md"])

    @classmethod
    def of(cls, work: WorkSource) -> "WorkSourceReply":
        """The reply about a work."""
        return cls.model_validate(work)


class ImportPlanReply(Reply):
    """What an upload would do; nothing is stored."""

    corpus_id: int | None = Field(examples=[1])
    """Null for a corpus that the import would make."""
    corpus: str = Field(examples=["default"])
    files: list[PlannedFileReply]
    """In the order of the request."""
    without_file: list[WorkSourceReply]
    """The uploaded works of the corpus with no file in the list. An import leaves them as they are; those that are to
    go are removed by their ids."""
    estimate: Estimate | None
    """The run of the files that go through the stages of a document; null where none of them is new or replaced. Where
    models decide about headings, its calls have no bound before the texts are known."""

    @classmethod
    def of(cls, plan: ImportPlan, corpus: str, estimate: Estimate | None) -> "ImportPlanReply":
        """The reply about a plan."""
        return cls(
            corpus_id=plan.corpus_id,
            corpus=corpus,
            files=[PlannedFileReply.of(file) for file in plan.files],
            without_file=[WorkSourceReply.of(work) for work in plan.removed],
            estimate=estimate,
        )


class ImportEstimateReply(Reply):
    """What an import would do; nothing is stored."""

    embedding: Estimate | None
    """The run that embeds the markdown that is stored at once, and chunks that wait; null where there are none."""
    estimate: Estimate | None
    """The run of the texts that go through the stages of a document; null where none of them is new or replaced."""

    @classmethod
    def of(cls, found: ImportEstimates) -> "ImportEstimateReply":
        """The reply about an import."""
        return cls(embedding=found.embedding, estimate=found.documents)


class RemoveWorksBody(Body):
    """Works to remove from a corpus."""

    model_config = with_example(work_ids=[9])

    work_ids: Annotated[
        list[Annotated[int, Field(ge=1, le=_MOST)]], Field(min_length=1, max_length=MAX_REMOVED, examples=[[9]])
    ]


class RemovedWorksReply(Reply):
    """The works that were removed."""

    removed: list[WorkSourceReply]
