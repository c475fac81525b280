"""What an import would do, and the works that are removed, as JSON."""

from typing import Annotated, Final

from pydantic import Field

from api.rest.bodies.base import Body, Reply, with_example
from schemas.values.estimates import Estimate
from services.import_estimates import ImportEstimates
from store.corpora.sources import WorkSource

#: Works of one removal.
MAX_REMOVED: Final = 1000

#: Every reader of JSON keeps whole numbers exactly up to here.
_MOST: Final = 2**53 - 1


class WorkSourceReply(Reply):
    """A work and the file that it came from."""

    id: int = Field(examples=[9])
    title: str = Field(examples=["Bridges"])
    source_path: str = Field(examples=["bridges.md"])

    @classmethod
    def of(cls, work: WorkSource) -> "WorkSourceReply":
        """The reply about a work."""
        return cls.model_validate(work)


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
