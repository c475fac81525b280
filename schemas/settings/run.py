"""All settings of a run: the values that stages read, frozen at submission."""

from collections.abc import Mapping
from hashlib import sha256
from typing import Any, Final, NamedTuple, Self

import rfc8785
from pydantic import BaseModel, ConfigDict, model_validator

from schemas.chains import CHAINS, queue_of
from schemas.errors import SettingsError
from schemas.settings.base import checked, disagreement, settings_in, unknown_name
from schemas.settings.groups import (
    ConsistencySettings,
    EmbeddingSettings,
    EvaluationSettings,
    LLMSettings,
    ModelSettings,
    OllamaSettings,
    PsqSettings,
    PydanticAISettings,
    QuantitativeSettings,
    RagqSettings,
)
from schemas.settings.preset import Preset, is_preset_name


class RunSettings(BaseModel):
    """Every value that can change what a run computes. Its defaults are the profile `paper`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    embedding: EmbeddingSettings = EmbeddingSettings()
    model: ModelSettings = ModelSettings()
    llm: LLMSettings = LLMSettings()
    ollama: OllamaSettings = OllamaSettings()
    quantitative: QuantitativeSettings = QuantitativeSettings()
    consistency: ConsistencySettings = ConsistencySettings()
    pydantic_ai: PydanticAISettings = PydanticAISettings()
    evaluation: EvaluationSettings = EvaluationSettings()
    psq: PsqSettings = PsqSettings()
    ragq: RagqSettings = RagqSettings()

    @model_validator(mode="after")
    def _search_gives_enough_to_choose_from(self) -> Self:
        candidates, top_k = self.ragq.retrieve_candidates, self.embedding.top_k_references
        if candidates < top_k:
            raise disagreement(
                f"RAGQ_RETRIEVE_CANDIDATES={candidates} is less than EMBEDDING_TOP_K_REFERENCES={top_k}, so the search "
                "would return fewer references than are to be kept; raise the first or lower the second",
                "RAGQ_RETRIEVE_CANDIDATES",
                "EMBEDDING_TOP_K_REFERENCES",
            )
        return self

    @model_validator(mode="after")
    def _passages_are_scored_in_one_way(self) -> Self:
        if self.ragq.score_input == "evidence" and self.quantitative.severity_inference_mode == "infer":
            raise disagreement(
                "QUANTITATIVE_SEVERITY_INFERENCE_MODE=infer has no effect on a prompt of passages alone; set "
                "RAGQ_SCORE_INPUT=transcript, or set QUANTITATIVE_SEVERITY_INFERENCE_MODE=strict",
                "RAGQ_SCORE_INPUT",
                "QUANTITATIVE_SEVERITY_INFERENCE_MODE",
            )
        return self

    @property
    def validation_model(self) -> str:
        """The model that judges references: EMBEDDING_VALIDATION_MODEL, or MODEL_JUDGE_MODEL when that is empty."""
        return self.embedding.validation_model or self.model.judge_model

    @property
    def query_model(self) -> str:
        """The model that expands and answers questions: RAGQ_QUERY_MODEL, or MODEL_QUANTITATIVE_MODEL."""
        return self.ragq.query_model or self.model.quantitative_model

    @property
    def query_light_model(self) -> str:
        """The model for questions that request the light one: RAGQ_QUERY_LIGHT_MODEL, or `query_model`."""
        return self.ragq.query_light_model or self.query_model

    @property
    def document_model(self) -> str:
        """The model for headings and sections of documents: RAGQ_DOCUMENT_MODEL, or MODEL_QUANTITATIVE_MODEL."""
        return self.ragq.document_model or self.model.quantitative_model

    @property
    def score_timeout_s(self) -> float:
        """Seconds that a scoring call may take: PYDANTIC_AI_TIMEOUT_SECONDS, or OLLAMA_TIMEOUT_SECONDS for 0."""
        return self.pydantic_ai.timeout_seconds or self.ollama.timeout_seconds

    def values(self) -> dict[str, bool | int | float | str]:
        """Every value under its environment name, in the order of RUN_SETTINGS."""
        groups = self.model_dump(mode="json")
        return {name: groups[setting.place[0]][setting.field] for name, setting in RUN_SETTINGS.items()}


def _environment_name(group: str, field: str) -> str:
    return field.upper() if group == "evaluation" else f"{group}_{field}".upper()


RUN_SETTINGS: Final = settings_in(RunSettings(), _environment_name)
"""Every setting of a run under its environment name."""


def run_settings(values: Mapping[str, Any], *, origins: Mapping[str, str]) -> tuple[RunSettings | None, list[str]]:
    """The settings with these values under environment names, or None and every problem with them.

    Absent names have their defaults; names that no setting of a run has are ignored. `origins` has the source of the
    value for every setting of a run.
    """
    return checked(RunSettings, values, settings=RUN_SETTINGS, origins=origins)


def settings_hash(settings: RunSettings) -> str:
    """SHA-256 in hex over the canonical JSON (RFC 8785) of the values; their sources do not count."""
    return sha256(rfc8785.dumps(settings.values())).hexdigest()


class FrozenSettings(NamedTuple):
    """The settings of a stored run."""

    run: RunSettings
    preset: Preset | None
    """None for a kind of job that has no preset."""

    @property
    def expands(self) -> bool:
        """Whether a language model expands questions, unless their submission skips that."""
        return self.preset is not None and self.preset.expansion.enabled and self.run.ragq.expander == "model"

    def asks_model(self, kind: str, stage: str, inputs: Mapping[str, Any]) -> bool:
        """Whether a stage of a job asks a language model, by the kind and the inputs of the job."""
        run, preset = self.run, self.preset
        match kind, stage:
            case "participant", "extract":
                return run.quantitative.evidence_extractor == "llm" and inputs.get("evidence") is None
            case "participant", "validate":
                return run.embedding.enable_reference_validation and run.ragq.reference_validator == "model"
            case "participant", "score":
                return run.ragq.scorer == "model"
            case "query", "expand":
                return bool(inputs["expansion"]["origin"] == "model")
            case "query", "validate":
                return preset is not None and preset.validation.enabled
            case "query", "generate":
                return inputs["response"] is None and run.ragq.answerer == "model"
            case "work", "repair":
                return run.ragq.repair_by == "model"
            case "work", "select":
                return run.ragq.select_by == "model"
            case "evaluation", "judge":
                return bool(inputs["verdicts_at_most"])
            case "index", "score":
                return True
        return False

    def queue_of(self, kind: str, mode: str, stage: str, inputs: Mapping[str, Any]) -> str:
        """The queue of a stage of a job."""
        if (kind, mode) not in CHAINS:
            return stage
        return queue_of(stage, asks_model=self.asks_model(kind, stage, inputs))


def thaw(snapshot: Mapping[str, Mapping[str, Any]]) -> FrozenSettings:
    """The settings in a run's snapshot; one that is newer than the snapshot has its default.

    Raises Refused, with all of them, for names that are unknown to this version and for values that it does not accept.
    """
    origin = "stored with the run"
    values = {name: stored["value"] for name, stored in snapshot.items()}
    of_preset = {name: value for name, value in values.items() if is_preset_name(name)}
    settings, problems = run_settings(values, origins=dict.fromkeys(RUN_SETTINGS, origin))
    known = RUN_SETTINGS.keys() | of_preset.keys()
    unknown = [unknown_name(name, origin, RUN_SETTINGS) for name in values if name not in known]
    if settings is None or unknown:
        raise SettingsError([*unknown, *problems])
    return FrozenSettings(settings, Preset().changed(of_preset, origin=origin) if of_preset else None)
