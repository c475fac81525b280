"""The category of every exception."""

import httpx
import pytest

from schemas.errors import (
    DomainError,
    EmbeddingArtifactMismatchError,
    EmbeddingDimensionMismatchError,
    EmbeddingValidationError,
    EmptyTranscriptError,
    EvidenceGroundingError,
    EvidenceSchemaError,
    FailureCategory,
    FailureSeverity,
    LLMError,
    LLMResponseParseError,
    LLMTimeoutError,
    NothingRelevantError,
    ReplyShapeError,
    RerankerUnavailableError,
    TemplateError,
    TranscriptError,
    WorkChangedError,
)
from stages.failures import categorise


@pytest.mark.parametrize(
    ("stage", "error", "category"),
    [
        ("extract", TranscriptError("no speaker"), "transcript_parse_error"),
        ("extract", EmptyTranscriptError("blank"), "transcript_empty"),
        ("extract", LLMResponseParseError("{", "no end"), "evidence_json_parse"),
        ("extract", EvidenceSchemaError({"PHQ8_Sleep": "expected_list_got_str"}), "evidence_schema_invalid"),
        ("extract", EvidenceGroundingError(3), "evidence_hallucination"),
        ("extract", LLMTimeoutError(600), "evidence_llm_timeout"),
        ("embed", EmbeddingValidationError("1 vector for 2 texts"), "embedding_invalid_vector"),
        ("embed", EmbeddingDimensionMismatchError(384, 12), "embedding_dimension_mismatch"),
        ("embed", EmbeddingArtifactMismatchError("other weights"), "reference_artifact_mismatch"),
        ("embed", LLMTimeoutError(300), "embedding_timeout"),
        ("retrieve", DomainError("leak", FailureCategory.REFERENCE_LEAK), "reference_leak"),
        ("rerank", LLMTimeoutError(300), "rerank_timeout"),
        ("augment", DomainError("too small"), "unknown"),
        ("rerank", RerankerUnavailableError("no weights"), "rerank_error"),
        ("repair", ReplyShapeError("", "no line"), "repair_reply_unusable"),
        ("validate", LLMResponseParseError("yes", "not JSON"), "validation_json_parse"),
        ("validate", LLMTimeoutError(600), "validation_llm_timeout"),
        ("score", LLMResponseParseError("hm", "no object"), "scoring_json_parse"),
        ("score", LLMTimeoutError(600), "scoring_llm_timeout"),
        ("score", LLMError("too busy", status=503), "transport"),
        ("score", LLMError("no such model", status=404), "llm_error"),
        ("score", httpx.ConnectError("refused"), "transport"),
        ("score", RuntimeError("surprise"), "unknown"),
        ("expand", LLMResponseParseError("{", "no end"), "expansion_json_parse"),
        ("expand", LLMTimeoutError(600), "expansion_llm_timeout"),
        ("expand", TemplateError("{n} is missing"), "template_invalid"),
        ("validate", NothingRelevantError("Nothing"), "nothing_relevant"),
        ("consolidate", WorkChangedError(2), "input_changed"),
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
