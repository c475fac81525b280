"""All settings of a run: the values that stages read, frozen at submission."""

from collections.abc import Mapping
from hashlib import sha256
from typing import Annotated, Any, Final, Literal, NamedTuple, Self

import rfc8785
from annotated_types import Ge, Le, MinLen
from pydantic import BaseModel, ConfigDict, model_validator

from schemas.chains import CHAINS, queue_of
from schemas.errors import SettingsError
from schemas.settings.base import Layer, SettingsGroup, checked, disagreement, given_in, settings_in, unknown_name
from schemas.settings.preset import Preset, is_preset_name

# The name of a group is the prefix of its settings.


class ConsistencySettings(SettingsGroup):
    """Scoring by several samples."""

    enabled: bool = False
    """Score each participant several times and use the most frequent answer."""
    n_samples: Annotated[int, Ge(1), Le(20)] = 5
    """Usable samples per participant; at most twice as many are requested."""
    temperature: Annotated[float, Ge(0.0), Le(2.0)] = 0.2
    """Temperature of the samples."""


class EmbeddingSettings(SettingsGroup):
    """The reference index, its search and the filters after the search."""

    backend: Literal["huggingface", "ollama", "openai"] = "huggingface"
    """The embedder: a sentence-transformers model in the worker, an Ollama server, or any server with OpenAI's
    embeddings API at RAGQ_OPENAI_EMBEDDING_BASE_URL."""
    dimension: Annotated[int, Ge(1)] = 4096
    """Numbers per vector; longer vectors of the model are cut to it and normalised again."""
    allow_insufficient_dimension_embeddings: bool = False
    """Skip vectors shorter than EMBEDDING_DIMENSION instead of failing."""
    chunk_size: Annotated[int, Ge(2), Le(20)] = 8
    """Lines of a transcript per chunk of the reference index."""
    chunk_step: Annotated[int, Ge(1)] = 2
    """Lines from the start of one chunk to the start of the next; at most EMBEDDING_CHUNK_SIZE."""
    top_k_references: Annotated[int, Ge(1), Le(10)] = 2
    """References kept per item after the similarity threshold."""
    min_evidence_chars: Annotated[int, Ge(0)] = 8
    """Characters that an item's evidence, or a chunk, needs in order to be embedded."""
    enable_batch_query_embedding: bool = True
    """Embed the evidence of all items in one call instead of one call per item."""
    query_embed_timeout_seconds: Annotated[int, Ge(30), Le(3600)] = 300
    """Seconds that one embedding call may take."""
    embeddings_file: Annotated[str, MinLen(1)] = "huggingface_qwen3_8b_paper_train"
    """Name of the reference index that is searched."""
    enable_retrieval_audit: bool = False
    """Log one `retrieved_reference` event per reference that remains after all filters."""
    min_reference_similarity: Annotated[float, Ge(0.0), Le(1.0)] = 0.0
    """References below this similarity, (1 + cosine) / 2, are dropped; 0 drops none."""
    max_reference_chars_per_item: Annotated[int, Ge(0)] = 0
    """Maximum characters of reference text per item; the first reference beyond it ends the list; 0 is no limit."""
    enable_item_tag_filter: bool = False
    """Search only chunks that carry the tag of the item."""
    reference_score_source: Literal["participant", "chunk"] = "participant"
    """Score that a reference shows: its participant's for the item, or the chunk's own."""
    allow_chunk_scores_prompt_hash_mismatch: bool = False
    """Accept chunk scores from another prompt."""
    enable_reference_validation: bool = False
    """Let a language model judge every reference before it goes into the prompt."""
    validation_model: str = ""
    """Model that judges references; if empty, MODEL_JUDGE_MODEL."""
    validation_max_refs_per_item: Annotated[int, Ge(1)] = 2
    """Accepted references per item at which judging stops; only used with validation."""

    @model_validator(mode="after")
    def _chunks_leave_no_line_out(self) -> Self:
        if self.chunk_step > self.chunk_size:
            raise disagreement(
                f"EMBEDDING_CHUNK_STEP={self.chunk_step} is more than EMBEDDING_CHUNK_SIZE={self.chunk_size}, "
                "so lines between two chunks would be lost; lower the step or raise the size",
                "EMBEDDING_CHUNK_STEP",
                "EMBEDDING_CHUNK_SIZE",
            )
        return self


class EvaluationSettings(SettingsGroup):
    """What is predicted of a participant. All but the first are the defaults of the run's report."""

    enable_few_shot: bool = True
    """Score with references too; if false, a submission scores in zero-shot mode only."""
    prediction_mode: Literal["item", "total", "binary"] = "item"
    """What the report shows first: scores of items, totals, or depressed or not."""
    total_score_min_coverage: Annotated[float, Ge(0.0), Le(1.0)] = 0.5
    """Share of the eight items that need a score for a total."""
    binary_threshold: Annotated[int, Ge(0), Le(24)] = 10
    """The total from which a participant counts as depressed."""


class LLMSettings(SettingsGroup):
    """The protocol of the language model server."""

    backend: Literal["ollama", "openai"] = "ollama"
    """Ollama's API, or any server with OpenAI's chat API at RAGQ_OPENAI_BASE_URL."""


class ModelSettings(SettingsGroup):
    """The model of each task."""

    quantitative_model: Annotated[str, MinLen(1)] = "gemma3:27b"
    """Language model that extracts evidence and scores the items."""
    judge_model: Annotated[str, MinLen(1)] = "gemma3:27b"
    """Language model that judges references when EMBEDDING_VALIDATION_MODEL is empty."""
    embedding_model: Annotated[str, MinLen(1)] = "qwen3-embedding:8b"
    """Model that embeds evidence and chunks."""
    temperature: Annotated[float, Ge(0.0), Le(2.0)] = 0.0
    """Sampling temperature of extraction and scoring; references are always judged at 0."""


class OllamaSettings(SettingsGroup):
    """Calls to a language model server."""

    timeout_seconds: Annotated[int, Ge(10)] = 600
    """Seconds that one chat call may take; if unset, the value of PYDANTIC_AI_TIMEOUT_SECONDS."""


class PsqSettings(SettingsGroup):
    """Candidate tags for phrases."""

    retrieval_global_k: Annotated[int, Ge(1)] = 300
    """Maximum candidates of a request."""
    retrieval_per_phrase_k: Annotated[int, Ge(1)] = 10
    """Nearest tokens considered per phrase."""
    retrieval_per_phrase_final_k: Annotated[int, Ge(1)] | Literal["auto"] = "auto"
    """Tags kept per phrase; more if the phrase names more tags exactly. `auto` keeps those whose score is at least 0.6
    of the best one's, five at most, and one with PSQ_SIMILARITY=original."""
    min_tag_count: Annotated[int, Ge(0)] | Literal["auto"] = "auto"
    """Tags with a lower count are dropped; a missing count is 0. `auto` is 100 if at least 95 % of the tags reach it,
    and 0 otherwise."""
    similarity: Literal["fused", "original"] = "fused"
    """How near a token is to a phrase: by spelling, meaning and FastText together, or by FastText alone."""
    skip_fasttext_for_exact_alias: bool = True
    """Skip the search for neighbours of a phrase that names a tag exactly, by the tag's name or an alias."""
    context_weight: Annotated[float, Ge(0.0), Le(1.0)] = 0.5
    """Weight of the context in the combined score; the similarity has the rest."""
    context_tag_weight: Annotated[float, Ge(0.0)] = 1.0
    """Weight of each context tag in the context, where a phrase has weight 1."""


class PydanticAISettings(SettingsGroup):
    """Re-asks for scores that cannot be used."""

    retries: Annotated[int, Ge(0), Le(10)] = 5
    """Times the model is sent the error in its scores and asked again, before the job fails."""
    timeout_seconds: Annotated[float, Ge(0.0)] = 0.0
    """Seconds that one scoring call may take; 0 takes OLLAMA_TIMEOUT_SECONDS."""


class QuantitativeSettings(SettingsGroup):
    """The source of evidence, the check of its quotes, the scoring of items."""

    evidence_extractor: Literal["llm", "similarity"] = "llm"
    """Source of quotes: a language model that reads the transcript, or similarity to descriptions of the items."""
    similarity_threshold: Annotated[float, Ge(0.0), Le(1.0)] = 0.70
    """Similarity, (1 + cosine) / 2, from which the `similarity` extractor quotes an utterance."""
    similarity_max_quotes: Annotated[int, Ge(1), Le(20)] = 3
    """Maximum quotes per item of the `similarity` extractor."""
    evidence_quote_validation_enabled: bool = True
    """Keep only quotes that occur in the transcript."""
    evidence_quote_validation_mode: Literal["substring", "fuzzy"] = "substring"
    """A quote must occur in the transcript exactly, or nearly."""
    evidence_quote_fuzzy_threshold: Annotated[float, Ge(0.5), Le(1.0)] = 0.85
    """Partial match ratio from which mode `fuzzy` accepts a quote."""
    evidence_quote_fail_on_all_rejected: bool = False
    """Fail the job when there are quotes and none occurs in the transcript, instead of continuing without evidence."""
    evidence_quote_log_rejections: bool = True
    """Log how many quotes were rejected per item."""
    severity_inference_mode: Literal["strict", "infer"] = "strict"
    """Score only stated frequencies, or also frequencies inferred from the way of speaking."""
    track_na_reasons: bool = True
    """Record why an item has no score."""


class RagqSettings(SettingsGroup):
    """Settings that are new in ragq."""

    retrieve_candidates: Annotated[int, Ge(1), Le(1000)] = 50
    """Nearest chunks per item that the search returns for ranking; at least EMBEDDING_TOP_K_REFERENCES."""
    reranker: Literal["similarity", "cross_encoder"] = "similarity"
    """Order of the references: by similarity, or by a cross-encoder that reads evidence and reference together."""
    reranker_model: str = ""
    """Folder or hub id of the cross-encoder; required by RAGQ_RERANKER=cross_encoder."""
    reranker_timeout_seconds: Annotated[int, Ge(1)] = 300
    """Seconds that the cross-encoder may take for the references of one item."""
    validation_max_chars: Annotated[int, Ge(100), Le(100_000)] = 4000
    """Characters of a passage that the judging prompt shows; the rest is cut."""
    long_texts: Literal["refuse", "truncate"] = "refuse"
    """Evidence and reference chunks that are longer than the embedder reads: fail the job, or cut and count them."""
    verdict_max_tokens: Annotated[int, Ge(1)] = 256
    """Maximum tokens of a verdict on a reference or a passage; one that is cut off is asked for again."""
    chunk_score_max_tokens: Annotated[int, Ge(1)] = 256
    """Maximum tokens of the scores of a chunk; a reply that is cut off is asked for again."""
    reply_retries: Annotated[int, Ge(0), Le(10)] = 2
    """Times the model is sent the error in evidence, verdicts, chunk scores or headings and asked again before the job
    fails."""
    deduplicate_references: bool = False
    """Keep only the better of two references that share most of their lines; the next one replaces the other."""
    prompt_format: Literal["xml", "sentinel", "notebook"] = "xml"
    """Block of references: closed by its tag and left out when empty (xml), closed and with a sentence when empty
    (sentinel), or as in the paper's notebook, whose closing line repeats the opening tag (notebook)."""
    score_input: Literal["transcript", "evidence"] = "transcript"
    """What the scoring prompt shows: the transcript, or only the passages around the extracted quotes. With passages,
    RAGQ_SCORE_SCHEMA allows N/A for items without a passage only, and the reply gives no reasons: for small models."""
    score_schema: bool = False
    """Have the server enforce a JSON schema for scores; the model then cannot reason before it answers."""
    score_text_chars: Annotated[int, Ge(0)] = 0
    """Maximum characters of each evidence and reason under RAGQ_SCORE_SCHEMA; 0 is no limit."""
    token_signals: bool = True
    """Request the log-probabilities of the tokens of scoring replies; a server that has none gives scores without."""
    reference_validator: Literal["model", "similarity"] = "model"
    """Who accepts references where EMBEDDING_ENABLE_REFERENCE_VALIDATION is on: a language model, or their similarity
    and tag."""
    reference_similarity: Annotated[float, Ge(0.0), Le(1.0)] = 0.72
    """Similarity from which RAGQ_REFERENCE_VALIDATOR=similarity accepts a reference that is about the item. Calibrated
    on paper-train of the demo data for the installed embedder, each participant left out in turn; other embedders have
    other similarities."""
    scorer: Literal["model", "neighbours"] = "model"
    """Who scores the items: a language model; or nobody: the score is the mean of those of the nearest evidence of the
    index, weighted by similarity, and the median of the index where there is no evidence."""
    neighbours: Annotated[int, Ge(1), Le(100)] = 5
    """Participants of the index whose evidence RAGQ_SCORER=neighbours takes for an item."""
    expander: Literal["model", "none"] = "model"
    """Who expands questions: a language model; or nobody, so that the question alone is searched for."""
    answerer: Literal["model", "extractive"] = "model"
    """Who answers questions: a language model; or nobody: the best sentences of the sources are the answer."""
    relevance_floor: Annotated[float, Ge(0.0), Le(1.0)] = 0.0
    """A question fails when the probability that the corpus answers it is lower, estimated from the scores of the best
    passages; 0 disables the estimate."""
    query_model: str = ""
    """Language model that expands and answers questions; if empty, MODEL_QUANTITATIVE_MODEL."""
    query_light_model: str = ""
    """Language model for questions that request the light one; if empty, that of all other questions."""
    query_temperature: Annotated[float, Ge(0.0), Le(2.0)] = 0.2
    """Sampling temperature of expansions and answers."""
    corpus_batch_chunks: Annotated[int, Ge(1), Le(1024)] = 64
    """Chunks of a corpus that are embedded by one job."""
    hnsw_from_chunks: Annotated[int, Ge(1)] = 20_000
    """Searchable chunks from which a corpus gets an HNSW index; fewer are scanned exactly."""
    answer_template: Literal["rag_augmentation", "short_answer"] = "rag_augmentation"
    """Template of the prompt of an answer: with sections, or of two to four sentences, for small models."""
    context_tokens: Annotated[int, Ge(0)] = 0
    """Tokens of prompt and reply together, which prompts are made to fit; 0 takes what the server says of the model."""
    query_max_tokens: Annotated[int, Ge(0)] = 0
    """Maximum tokens of an expansion or answer unless the preset sets it; 0 uses the limit of the server."""
    repair_by: Literal["rules", "model"] = "rules"
    """Who repairs the headings of an imported document: rules, or a language model."""
    select_by: Literal["rules", "model"] = "rules"
    """Who selects the sections of an imported document that are embedded: rules, or a language model."""
    document_model: str = ""
    """Language model for the headings and sections of documents; if empty, MODEL_QUANTITATIVE_MODEL."""
    retries: Annotated[int, Ge(0), Le(10)] = 0
    """Automatic retries of a stage after a transport error; other errors are not retried."""

    @model_validator(mode="after")
    def _a_cross_encoder_has_a_name(self) -> Self:
        if self.reranker == "cross_encoder" and not self.reranker_model:
            raise disagreement(
                "RAGQ_RERANKER=cross_encoder needs a model; set RAGQ_RERANKER_MODEL to a folder or hub id",
                "RAGQ_RERANKER",
                "RAGQ_RERANKER_MODEL",
            )
        return self


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


def run_settings(*layers: Layer) -> tuple[RunSettings | None, list[str]]:
    """The settings with the values of layers, lowest first, or None and every problem with them. Absent names have
    their defaults; names that no setting of a run has are ignored."""
    return checked(RunSettings, given_in(layers, RUN_SETTINGS), RUN_SETTINGS)


def settings_hash(settings: RunSettings) -> str:
    """SHA-256 in hex over the canonical JSON (RFC 8785) of the values; their sources do not count."""
    return sha256(rfc8785.dumps(settings.values())).hexdigest()


class FrozenSettings(NamedTuple):
    """The settings of a stored run."""

    run: RunSettings
    preset: Preset | None
    """None for a kind of job that has no preset."""

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
                return run.ragq.answerer == "model"
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
    """The settings in a run's snapshot; one that is newer than the snapshot has its default. Raises Refused, with all
    of them, for names that are unknown to this version and for values that it does not accept."""
    origin = "stored with the run"
    values = {name: stored["value"] for name, stored in snapshot.items()}
    of_preset = {name: value for name, value in values.items() if is_preset_name(name)}
    settings, problems = run_settings(Layer(origin, values))
    known = RUN_SETTINGS.keys() | of_preset.keys()
    unknown = [unknown_name(name, origin, RUN_SETTINGS) for name in values if name not in known]
    if settings is None or unknown:
        raise SettingsError([*unknown, *problems])
    return FrozenSettings(settings, Preset().changed(of_preset, origin=origin) if of_preset else None)
