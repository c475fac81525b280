"""The run JSON of ai-psychiatrist: scores and signals of participants, which become a stored run."""

from collections import Counter
from collections.abc import Iterator
from typing import Annotated, Any, Literal, Self, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator
from pydantic_core import PydanticCustomError

from schemas.values.chat import TokenSignals
from schemas.values.interviews import FileProblem
from schemas.values.participants import EvidenceExtractor, SimilarityStatistics
from schemas.values.phq8 import AssessmentMode, PHQ8Item
from schemas.values.scoring import Consistency, InferenceType, ItemScore, NAReason, ParticipantScores, Subject
from stages.files.problems import Parsed, validation_problems
from stages.participants.totals import totals_of
from stages.texts.storable_field import Storable

_WHAT_TO_DO = "name a results file of ai-psychiatrist as it was written (data/outputs/*.json)"
_MOST_SUBJECTS = 10_000

_ITEM_NAMES = frozenset(item.value for item in PHQ8Item)

T = TypeVar("T")


def _no_nan(given: Any) -> Any:
    """None for NaN, which older files have where nothing was scored."""
    return None if isinstance(given, float) and given != given else given


def _whole(given: Any) -> Any:
    """4 for 4.0."""
    return int(given) if isinstance(given, float) and given.is_integer() else given


def _items_only(given: Any) -> Any:
    if isinstance(given, dict) and given.keys() - _ITEM_NAMES:
        raise PydanticCustomError("unknown_item", "Has a name that is no PHQ-8 item")
    return given


Text = Annotated[str, Field(max_length=10_000), Storable]
Score = Annotated[int, Field(ge=0, le=3)]
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=0, le=1_000_000)]
Real = Annotated[float, Field(allow_inf_nan=False)]
Stated = Annotated[Real | None, BeforeValidator(_no_nan)]
PerItem = Annotated[dict[PHQ8Item, T], BeforeValidator(_items_only)]


class _Part(BaseModel):
    """A part of the file: fields that are not listed are left alone, others have exactly these types."""

    model_config = ConfigDict(strict=True, extra="ignore", frozen=True, hide_input_in_errors=True)


class OriginalSignals(_Part):
    """`item_signals` of an item; a signal that is absent or null was not recorded."""

    llm_evidence_count: Count = 0
    evidence_source: Text | None = None
    retrieval_reference_count: Count | None = None
    retrieval_similarity_mean: Share | None = None
    retrieval_similarity_max: Share | None = None
    verbalized_confidence: Annotated[int, Field(ge=1, le=5), BeforeValidator(_whole)] | None = None
    token_msp: Share | None = None
    token_pe: Annotated[Real, Field(ge=0)] | None = None
    token_energy: Real | None = None
    consistency_samples: Annotated[list[Score | None], Field(max_length=100)] | None = None
    consistency_modal_score: Score | None = None
    consistency_modal_count: Count | None = None
    consistency_modal_confidence: Share | None = None
    consistency_score_std: Annotated[Real, Field(ge=0)] | None = None
    consistency_na_rate: Share | None = None
    na_reason: NAReason | None = None
    inference_used: bool | None = None
    inference_type: InferenceType | None = None

    @model_validator(mode="after")
    def _whole_groups(self) -> Self:
        for group in (self._tokens, self._agreement):
            if len({value is None for value in group}) > 1:
                raise PydanticCustomError("incomplete_signals", "Has some signals of the tokens or samples, not all")
        return self

    @property
    def _tokens(self) -> tuple[float | None, ...]:
        return self.token_msp, self.token_pe, self.token_energy

    @property
    def _agreement(self) -> tuple[object, ...]:
        return (
            self.consistency_samples,
            self.consistency_modal_count,
            self.consistency_modal_confidence,
            self.consistency_score_std,
            self.consistency_na_rate,
        )

    def score(self, score: int | None) -> ItemScore:
        """The score of the item with these signals."""
        known = {extractor.value: extractor for extractor in EvidenceExtractor}
        return ItemScore(
            score=score,
            confidence=self.verbalized_confidence,
            inference_used=bool(self.inference_used),
            inference_type=self.inference_type,
            na_reason=self.na_reason,
            evidence_source=known.get(self.evidence_source or ""),
            evidence_count=self.llm_evidence_count,
            retrieval=SimilarityStatistics(
                count=self.retrieval_reference_count or 0,
                mean=self.retrieval_similarity_mean,
                maximum=self.retrieval_similarity_max,
            ),
            tokens=self._token_signals(),
            consistency=self._consistency(),
        )

    def _token_signals(self) -> TokenSignals | None:
        if self.token_msp is None or self.token_pe is None or self.token_energy is None:
            return None
        return TokenSignals(msp=self.token_msp, pe=self.token_pe, energy=self.token_energy)

    def _consistency(self) -> Consistency | None:
        if (
            self.consistency_samples is None
            or self.consistency_modal_count is None
            or self.consistency_modal_confidence is None
            or self.consistency_score_std is None
            or self.consistency_na_rate is None
        ):
            return None
        return Consistency(
            samples=tuple(self.consistency_samples),
            modal_score=self.consistency_modal_score,
            modal_count=self.consistency_modal_count,
            modal_confidence=self.consistency_modal_confidence,
            score_std=self.consistency_score_std,
            na_rate=self.consistency_na_rate,
        )


class OriginalSubject(_Part):
    """One participant. Totals and severities are not read: they follow from the items."""

    participant_id: Annotated[int, Field(ge=1, le=999_999)]
    success: bool
    error: Text | None = Field(default=None, repr=False)
    ground_truth_items: PerItem[Score] = {}
    """Empty for a participant that failed."""
    predicted_items: PerItem[Score | None] = {}
    item_signals: PerItem[OriginalSignals] = {}

    @model_validator(mode="after")
    def _all_items(self) -> Self:
        if self.success and len(self.predicted_items) < len(PHQ8Item):
            raise PydanticCustomError("missing_items", "Has success and not all eight predicted items")
        if self.ground_truth_items and len(self.ground_truth_items) < len(PHQ8Item):
            raise PydanticCustomError("missing_items", "Has some ground truth and not all eight items")
        return self

    def scores(self, model: str) -> ParticipantScores | None:
        """The scores; None for a participant that failed."""
        if not self.success:
            return None
        without = OriginalSignals()
        return ParticipantScores(
            model=model,
            model_digest="",
            items={item: self.item_signals.get(item, without).score(self.predicted_items[item]) for item in PHQ8Item},
            totals=totals_of(self.predicted_items.values()),
        )


class OriginalResults(_Part):
    """The participants of an experiment, and the metrics that the file states."""

    model: Text | None = None
    item_mae_weighted: Stated = None
    item_mae_by_item: Stated = None
    item_mae_by_subject: Stated = None
    prediction_coverage: Stated = None
    total_duration_seconds: Stated = None
    results: Annotated[list[OriginalSubject], Field(min_length=1, max_length=_MOST_SUBJECTS)]


class OriginalProvenance(_Part):
    """What an experiment was made with."""

    mode: Literal["zero_shot", "few_shot"]
    split: Text | None = None
    quantitative_model: Text | None = None
    embedding_model: Text | None = None
    llm_backend: Text | None = None
    embedding_backend: Text | None = None
    embeddings_path: Text | None = None
    embeddings_checksum: Text | None = None
    embeddings_meta_checksum: Text | None = None
    participants_requested: Count | None = None
    participants_evaluated: Count | None = None
    consistency_enabled: bool | None = None
    consistency_n_samples: Count | None = None
    consistency_temperature: Real | None = None


class OriginalExperiment(_Part):
    """One mode of a run."""

    provenance: OriginalProvenance
    results: OriginalResults

    @property
    def mode(self) -> AssessmentMode:
        return AssessmentMode(self.provenance.mode)

    @property
    def model(self) -> str:
        """The model that scored."""
        return self.results.model or self.provenance.quantitative_model or "unknown"

    @property
    def subjects(self) -> list[Subject]:
        """The participants with scores and ground truth."""
        return [
            Subject(participant_id=one.participant_id, items=scores.items, truth=one.ground_truth_items)
            for one in self.results.results
            if (scores := one.scores(self.model)) is not None and one.ground_truth_items
        ]


class OriginalMetadata(_Part):
    """The run. Its server's URL is not kept."""

    run_id: Text
    timestamp: Text | None = None
    git_commit: Text | None = None
    git_dirty: bool | None = None
    python_version: Text | None = None
    platform: Text | None = None


class OriginalRun(_Part):
    """A results file."""

    run_metadata: OriginalMetadata
    experiments: Annotated[list[OriginalExperiment], Field(min_length=1, max_length=len(AssessmentMode))]


def parse_original_run(data: bytes, *, file: str) -> Parsed[OriginalRun | None]:
    """The run in a results file; None with problems, which name the place and no value of the file."""
    try:
        run = OriginalRun.model_validate_json(data)
    except ValidationError as error:
        return Parsed(None, tuple(validation_problems(error, file=file, line=None, what_to_do=_WHAT_TO_DO)))
    problems = tuple(
        FileProblem(file=file, line=None, found=found, what_to_do="keep one of them") for found in _repeated(run)
    )
    return Parsed(None if problems else run, problems)


def _repeated(run: OriginalRun) -> Iterator[str]:
    modes = Counter(experiment.mode for experiment in run.experiments)
    yield from (f"has two experiments in mode {mode}" for mode, count in modes.items() if count > 1)
    for experiment in run.experiments:
        people = Counter(one.participant_id for one in experiment.results.results)
        for participant_id, count in people.items():
            if count > 1:
                yield f"{experiment.mode}: participant {participant_id} has {count} results"
