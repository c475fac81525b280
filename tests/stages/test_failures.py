"""The category of every exception."""

import httpx
import pytest

from schemas.errors import (
    ChunksGoneError,
    CorpusMissingError,
    EmbeddingArtifactMismatchError,
    EmbeddingDimensionMismatchError,
    EmbeddingValidationError,
    EmptyTranscriptError,
    EvidenceGroundingError,
    EvidenceSchemaError,
    ExpansionReplyError,
    InputChangedError,
    LLMError,
    LLMResponseParseError,
    LLMTimeoutError,
    NothingRelevantError,
    ReferenceIndexMissingError,
    ReferenceLeakError,
    ReferenceTextError,
    RerankError,
    ScoringRetriesExhausted,
    ScoringSchemaError,
    TagContractError,
    TemplateError,
    TranscriptError,
    TranscriptNotFoundError,
    VectorDefect,
    VocabularyError,
    VocabularyMissingError,
    WorkChangedError,
)
from stages.failures import FailureCategory, FailureSeverity, categorise


@pytest.mark.parametrize(
    ("stage", "error", "category"),
    [
        ("extract", TranscriptNotFoundError("gone"), "transcript_not_found"),
        ("extract", TranscriptError("no speaker"), "transcript_parse_error"),
        ("extract", EmptyTranscriptError("blank"), "transcript_empty"),
        ("extract", InputChangedError("another transcript"), "input_changed"),
        ("extract", LLMResponseParseError("{", "no end"), "evidence_json_parse"),
        ("extract", EvidenceSchemaError({"PHQ8_Sleep": "expected_list_got_str"}), "evidence_schema_invalid"),
        ("extract", EvidenceGroundingError(3), "evidence_hallucination"),
        ("extract", LLMTimeoutError(600), "evidence_llm_timeout"),
        ("embed", EmbeddingValidationError("bad", defect=VectorDefect.NAN), "embedding_nan"),
        ("embed", EmbeddingValidationError("bad", defect=VectorDefect.INFINITE), "embedding_inf"),
        ("embed", EmbeddingValidationError("bad", defect=VectorDefect.ZERO), "embedding_zero_vector"),
        ("embed", EmbeddingValidationError("1 vector for 2 texts"), "embedding_invalid_vector"),
        ("embed", EmbeddingDimensionMismatchError(384, 12), "embedding_dimension_mismatch"),
        ("embed", EmbeddingArtifactMismatchError("other weights"), "reference_artifact_mismatch"),
        ("embed", LLMTimeoutError(300), "embedding_timeout"),
        ("retrieve", ReferenceIndexMissingError(7), "reference_artifact_missing"),
        ("retrieve", ReferenceLeakError(316, 1), "reference_leak"),
        ("rerank", RerankError("NaN"), "rerank_error"),
        ("rerank", LLMTimeoutError(300), "rerank_timeout"),
        ("assemble", ReferenceTextError(9, 303, is_gone=True), "reference_artifact_missing"),
        ("assemble", ReferenceTextError(9, 303, is_gone=False), "reference_artifact_corrupt"),
        ("validate", LLMResponseParseError("yes", "not JSON"), "validation_json_parse"),
        ("validate", LLMTimeoutError(600), "validation_llm_timeout"),
        ("score", LLMResponseParseError("hm", "no object"), "scoring_json_parse"),
        ("score", ScoringSchemaError("{}", {"PHQ8_Sleep": "is missing"}), "scoring_schema_invalid"),
        ("score", ScoringRetriesExhausted("{}", "no object", 5), "scoring_pydantic_retry_exhausted"),
        ("score", LLMTimeoutError(600), "scoring_llm_timeout"),
        ("score", LLMError("too busy", status=503), "transport"),
        ("score", LLMError("no such model", status=404), "llm_error"),
        ("score", httpx.ConnectError("refused"), "transport"),
        ("score", RuntimeError("surprise"), "unknown"),
        ("expand", LLMResponseParseError("{", "no end"), "expansion_json_parse"),
        ("expand", ExpansionReplyError("{}", {"queries": "is missing"}), "expansion_schema_invalid"),
        ("expand", LLMTimeoutError(600), "expansion_llm_timeout"),
        ("expand", TemplateError("{n} is missing"), "template_invalid"),
        ("retrieve", CorpusMissingError(3), "corpus_missing"),
        ("rerank", ChunksGoneError([4]), "input_changed"),
        ("validate", NothingRelevantError("Nothing"), "nothing_relevant"),
        ("consolidate", WorkChangedError(2), "input_changed"),
        ("retrieve", VocabularyMissingError(4), "vocabulary_unusable"),
        ("embed", VocabularyError("no models"), "vocabulary_unusable"),
        ("validate", TagContractError("1 candidate is no tag"), "tag_contract_broken"),
        ("generate", LLMResponseParseError("", "blank"), "answer_unusable"),
        ("generate", LLMTimeoutError(600), "answer_llm_timeout"),
    ],
)
def test_every_exception_has_its_category(stage: str, error: Exception, category: str) -> None:
    assert categorise(error, stage) == category


@pytest.mark.parametrize(
    ("category", "severity"),
    [
        (FailureCategory.EMBEDDING_DIMENSION_MISMATCH, FailureSeverity.FATAL),
        (FailureCategory.SCORING_LLM_TIMEOUT, FailureSeverity.ERROR),
        (FailureCategory.GROUND_TRUTH_MISSING, FailureSeverity.WARNING),
    ],
)
def test_what_concerns_every_subject_is_worse_than_what_concerns_one(
    category: FailureCategory, severity: FailureSeverity
) -> None:
    assert category.severity is severity
