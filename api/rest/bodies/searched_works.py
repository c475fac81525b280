"""Which corpora, and which works of them, a question searches."""

from typing import Annotated

from pydantic import Field, StringConstraints

from api.parameters import Text
from api.rest.bodies.base import Body
from schemas.values.work_filters import LONGEST, WorkFilter
from stages.queries.work_conditions import filter_of

CorpusToAsk = Annotated[Text, Field(min_length=1, max_length=200)]
Part = Annotated[Text, StringConstraints(strip_whitespace=True, min_length=1, max_length=LONGEST)]
Year = Annotated[int, Field(ge=-9999, le=9999)]


class WorksSearched(Body):
    """What a work must have to be searched; every field that is given. Letters of any case are equal."""

    author: Part | None = Field(default=None, repr=False, examples=["Leaf"])
    """A part of its authors."""
    title: Part | None = Field(default=None, repr=False, examples=["tea"])
    """A part of its title."""
    tag: Part | None = Field(default=None, repr=False, examples=["green tea"])
    """One of its tags, whole."""
    year_from: Year | None = Field(default=None, examples=[2001])
    """The first year, inclusive."""
    year_to: Year | None = Field(default=None, examples=[2019])
    """The last year, inclusive."""


class Searched(Body):
    """What a question searches."""

    corpus: CorpusToAsk | None = Field(default=None, examples=["shelf"])
    """By default `default`, or the only corpus there is."""
    corpora: Annotated[list[CorpusToAsk], Field(max_length=20)] = Field(default=[], examples=[["shelf"]])
    """Corpora that are searched as if they were one; `corpus` is one more of them."""
    works: WorksSearched | None = None
    """The works of them that are searched; by default all."""

    @property
    def all_corpora(self) -> list[str]:
        """The corpora by name; none for the default one."""
        return [*([] if self.corpus is None else [self.corpus]), *self.corpora]

    @property
    def work_filter(self) -> WorkFilter:
        """The works that are searched. Raises Refused for years that are out of order."""
        return filter_of({} if self.works is None else self.works.model_dump(exclude_none=True))
