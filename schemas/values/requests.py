"""What a run is asked for, and on what terms: declared once for the terminal, JSON, forms and notebooks.

So is which part of a list is wanted.
"""

from collections.abc import Sequence
from typing import Annotated, Any, Final, Literal, Self

from pydantic import (
    AfterValidator,
    AliasChoices,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WrapValidator,
    model_validator,
)
from pydantic_core import PydanticCustomError

from schemas.statuses import Priority, QueryStatus
from schemas.values.base import MAX_ID, Listed, NumberAsText, Request, Row, Storable, Text
from schemas.values.documents import WorkFilter
from schemas.values.participants import AssessmentMode
from schemas.values.runs import Option, RunLimits
from schemas.values.tags import PhraseSet

LONGEST_URL: Final = 2000

Name = Annotated[Text, StringConstraints(min_length=1, max_length=100)]
ParticipantId = Annotated[int, Field(ge=0, le=2**31 - 1)]


class RunTerms(RunLimits):
    """On what terms a run is carried out, whatever its work is. Limits that are set replace those of a stored run."""

    after_run_id: Annotated[int | None, Field(ge=1, le=MAX_ID)] = None
    """The jobs begin when this run has succeeded, and are cancelled if one of its jobs does not succeed."""
    notify_url: Annotated[Text | None, Field(min_length=1, max_length=LONGEST_URL), Option("--notify", "URL")] = Field(
        default=None, repr=False
    )
    """The address that gets a signed message when the run has finished or is paused."""
    batch_hours: Annotated[float | None, Field(gt=0, le=24 * 14), Option("--batch", "[HOURS]", without_value=24)] = None
    """Calls of language models are sent as batches of their provider, mostly at half the price; those without an answer
    after so many hours, 24 unless given, are sent singly."""


NO_TERMS: Final = RunTerms()


#: An empty text removes what there is.
_OrNone: Final = AfterValidator(lambda words: words or None)


class RunChanges(Request):
    """Changes of a run. A field that is absent stays as it is; null, or an empty text, removes the name or the note."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"name": "baseline", "note": "the threshold of the paper"}]}
    )

    name: Annotated[Text, StringConstraints(strip_whitespace=True, max_length=200), _OrNone] | None = None
    """One line of 1 to 100 characters that is no number of a run or job."""
    note: Annotated[Text, StringConstraints(strip_whitespace=True, max_length=2000), _OrNone] | None = Field(
        default=None, repr=False
    )
    """At most 2000 characters."""
    priority: Annotated[Priority, Field(strict=False)] = Field(default=Priority.NORMAL, examples=["bulk"])
    """How often jobs of it that have not started have a turn where several runs wait."""


class ParticipantRequest(Request):
    """Participants to assess: those of a split, or these by number."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"split": "paper-test", "modes": ["few_shot"], "limit": 3}]}
    )

    split: Annotated[Name | None, Option(metavar="SPLIT")] = None
    """The participants of this split, in the order of its file."""
    participants: Annotated[tuple[ParticipantId, ...] | None, Field(min_length=1, max_length=10_000, strict=False)] = (
        None
    )
    """These participants instead of a split."""
    data_set: Name | None = None
    """Whose split or participants; needed where several data sets could be meant. `split` may be DATA_SET/NAME too."""
    references: Annotated[Text | None, Field(min_length=1, max_length=300), Option(metavar="SPLIT|INDEX")] = None
    """Search the reference index of this split or name, also of another data set; by default that of the settings."""
    modes: Annotated[
        tuple[Annotated[AssessmentMode, Field(strict=False)], ...], Field(min_length=1, max_length=2, strict=False)
    ] = Field(default=tuple(AssessmentMode), json_schema_extra={"uniqueItems": True})
    """With or without references, or both, in this order."""
    limit: Annotated[int | None, Field(ge=1, le=2**31 - 1)] = None
    """Only the first participants of the split."""
    until: Annotated[Name | None, Option(metavar="STAGE")] = None
    """The last stage to run; by default all run."""
    evidence: Annotated[dict[Annotated[Text, Field(max_length=20)], Any] | None, Field(max_length=10_000)] = Field(
        default=None, repr=False
    )
    """Ready-made quotes: participant id, then `PHQ8_*` key, then a list of quotes."""
    allow_overlap: bool = False
    """Search an index with participants of the submitted split; their chunks are left out, and every report shows
    it."""

    @model_validator(mode="after")
    def _one_choice_of_participants(self) -> Self:
        if (self.split is None) == (self.participants is None):
            raise ValueError("give exactly one of split and participants")
        if self.limit is not None and self.split is None:
            raise ValueError("limit goes with split; name fewer participants instead")
        if len(set(self.modes)) < len(self.modes):
            raise ValueError("name each mode once")
        return self


CorpusName = Annotated[Text, Field(min_length=1, max_length=200)]


class ImportRequest(Request):
    """The corpus that works are imported into."""

    corpus: Annotated[Text, Field(min_length=1, max_length=1000), Option(metavar="CORPUS")]
    """Corpus to import into; made if there is none of this name."""
    embed_headings: bool | None = None
    """Embed each chunk under its headings; a new corpus does unless this is false."""
    chunk_tokens: Annotated[int | None, Field(ge=0, le=100_000), Option(metavar="N")] = None
    """The most tokens of a chunk with its headings, as the embedder counts them; 0 sizes chunks by words, 200 to 300. A
    new corpus has 192 where its embedder reads as many, words where tokens cannot be counted. An existing corpus keeps
    its size."""
    language: Annotated[Text | None, Field(min_length=1, max_length=50), Option(metavar="LANGUAGE")] = Field(
        default=None, examples=["german"]
    )
    """The language of a new corpus, by its name or a code of two letters, fixed then; `auto`, the default, finds it in
    the works, and `simple` has no dictionary. Another one than that of an existing corpus is refused."""
    by_stages: Annotated[bool, Option("--stages")] = False
    """Take markdown through the stages of a document too; a file that went through them before does so anyway."""


class Searched(Request):
    """What questions search."""

    corpus: CorpusName | None = Field(default=None, examples=["shelf"])
    """By default `default`, or the only corpus there is."""
    corpora: Annotated[tuple[CorpusName, ...], Field(max_length=20, strict=False)] = Field(
        default=(), examples=[["shelf"]]
    )
    """Corpora that are searched as if they were one; `corpus` is one more of them."""
    works: WorkFilter | None = None
    """The works of them that are searched; by default all."""

    @property
    def all_corpora(self) -> list[str]:
        """The corpora by name, each once; none for the default one."""
        return list(dict.fromkeys([*([] if self.corpus is None else [self.corpus]), *self.corpora]))


class QueryPolicy(Searched):
    """How questions are answered."""

    config_preset: Annotated[Name | None, Option("--preset", "PRESET")] = None
    """How to search, rank and answer; by default the default preset. Settings take values of the preset too."""
    expand: bool = True
    """False searches for the questions as they are asked, whatever the preset has."""
    use_full_model: bool | None = None
    """False: the light model expands and answers, where RAGQ_QUERY_LIGHT_MODEL is set."""
    until: Annotated[Name | None, Option(metavar="STAGE")] = None
    """The last stage to run; by default all run."""


Question = Annotated[Text, StringConstraints(strip_whitespace=True, min_length=1, max_length=2000)]
"""The text of a question; surrounding blanks are removed."""


def _without_names(value: object, validated: ValidatorFunctionWrapHandler) -> object:
    """What is wrong with judgements, without the documents that they name."""
    try:
        return validated(value)
    except ValidationError:
        raise PydanticCustomError("judgements", "Should map documents to whole numbers of at most 4 digits") from None


SINGLE: Final = "1"
"""The id of a question that is asked by itself."""


class SubmittedQuery(Request):
    """A question of a set: a line of a file of questions, or an object of the API."""

    id: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1), Storable, NumberAsText] = Field(
        validation_alias=AliasChoices("id", "_id"), examples=["q1"]
    )
    """1 to 64 letters, digits, dots, colons, hyphens and underscores: it is shown in logs."""
    text: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=2000), Storable] = Field(
        validation_alias=AliasChoices("text", "query"), repr=False
    )
    reference_answer: (
        Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=20_000), Storable] | None
    ) = Field(default=None, repr=False)
    """What answers to it are compared with, by an evaluation."""
    judgements: Annotated[
        dict[
            Annotated[str, StringConstraints(min_length=1), Storable],
            Annotated[int, Field(ge=-9999, le=9999, strict=True)],
        ],
        WrapValidator(_without_names),
    ] = Field(default={}, max_length=10_000, examples=[{"tea": 1}])
    """To evaluate by: the relevance of documents, by the names of works; 0 and below is judged but not relevant."""


class QueryRequest(QueryPolicy):
    """Questions to a corpus."""

    queries: tuple[SubmittedQuery, ...]
    preset_values: dict[str, str] = Field(default={})
    """Values that win over the preset's, by their names."""
    expansion_reply: str | None = Field(default=None, repr=False)
    """The reply of an external model, for a single question."""


Phrases = Annotated[
    tuple[Annotated[Text, StringConstraints(strip_whitespace=True, max_length=500)], ...],
    Field(max_length=50, strict=False),
    AfterValidator(lambda phrases: tuple(filter(None, phrases))),
]
"""Search phrases or entities; blank ones are left out."""


class QueryEdit(Request):
    """What to change of a question. What is absent stays as it is; null empties a part of the expansion."""

    original_query: Question | None = Field(default=None, repr=False)
    """The new question, where it is not null. The expansion is kept, and every later output becomes stale."""
    expanded_queries: Phrases | None = Field(default=None, repr=False)
    hyde_answer: Annotated[Text, StringConstraints(strip_whitespace=True, max_length=10_000)] | None = Field(
        default=None, repr=False
    )
    intent: Annotated[Text, StringConstraints(strip_whitespace=True, max_length=50)] | None = None
    """In any case of letters; an intent that is none of the six has no effect on the ranking."""
    entities: Phrases | None = Field(default=None, repr=False)


class TagsPolicy(Request):
    """Which tags are candidates."""

    vocabulary: Annotated[Text, Field(min_length=1, max_length=64, examples=["wardrobe"]), Option(metavar="VOCABULARY")]
    """Whose tags are found."""
    allow_nsfw: bool = False
    """Candidates may be tags that are not safe for work."""
    until: Annotated[Name | None, Option(metavar="STAGE")] = None
    """The last stage to run; by default all run."""


class TagsRequest(TagsPolicy):
    """Phrases to find tags for."""

    phrase_sets: tuple[PhraseSet, ...] = Field(repr=False)
    """One job each."""


Search = Annotated[Text, Field(max_length=200), Option(metavar="WORDS")]
Before = Annotated[int | None, Field(ge=1, le=MAX_ID, examples=[17]), Option(metavar="ID")]
Limit = Annotated[int, Field(ge=1, le=1000, examples=[20]), Option(metavar="N")]
LimitOrAll = Annotated[int | None, Field(ge=1, le=1000, examples=[20]), Option(metavar="N")]


RunKind = Literal["participant", "query", "tags", "index", "work", "evaluation"]


class Newest(Request):
    """A page of a list that begins with the newest."""

    before: Before = None
    """Only those that follow this one: the last of the page before."""
    limit: LimitOrAll = 20
    """How many, newest first."""

    @property
    def one_more(self) -> int | None:
        """The limit of a reading that shows whether there is another page."""
        return None if self.limit is None else self.limit + 1

    def page(self, found: Sequence[Row], total: int | None = None) -> Listed[Row]:
        """The page that begins with these, which are one more if there is another page."""
        shown = tuple(found[: self.limit])
        last: Any = shown[-1] if len(found) > len(shown) else None
        return Listed(items=shown, total=total, next=None if last is None else {"before": last.id})


class RunsWanted(Newest):
    """Runs, newest first."""

    kind: RunKind | None = None
    """Only runs of this kind."""
    search: Search = Field(default="", examples=["baseline failed"])
    """Only runs that have each of these words as number, or in name, note, kind, profile, request or states."""


class QuestionsWanted(Newest):
    """Questions, newest first."""

    status: QueryStatus | None = None
    """Only questions that need this next; `ready` needs an answer."""
    limit: LimitOrAll = None
    """How many; null lists all."""


class Part(Request):
    """A page of a list that has a fixed order."""

    limit: LimitOrAll = 100
    """How many."""
    offset: Annotated[int, Field(ge=0, le=2**31 - 1, examples=[0])] = 0
    """How many to leave out before them."""

    def page(self, found: Sequence[Row], total: int) -> Listed[Row]:
        """The page with these, out of so many.

        >>> Part(limit=2).page("ab", 3).next, Part(offset=2).page("c", 3).next, Part(offset=9).page("", 3).next
        ({'offset': 2}, None, None)
        """
        end = self.offset + len(found)
        return Listed(items=tuple(found), total=total, next={"offset": end} if found and end < total else None)


class WorksWanted(Part):
    """Works, by title."""

    limit: LimitOrAll = None
    """How many; null lists all."""
    search: Search = Field(default="", examples=["tea"])
    """Only works with this text in title, authors, year or source."""


class TagsWanted(Part):
    """Tags of a vocabulary, the most used first."""

    search: Search = Field(default="", examples=["coat"])
    """Only tags with this in their name."""


class ChunksWanted(Part):
    """Content chunks of a work, in the order of its text."""

    heading: Annotated[int | None, Field(ge=1, le=MAX_ID, examples=[12]), Option(metavar="ID")] = None
    """Only chunks of this section, deeper ones included."""
