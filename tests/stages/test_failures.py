"""The category of every exception."""

import httpx
import pytest

from schemas import errors
from schemas.errors import FailureCategory, FailureSeverity
from stages.failures import categorise


@pytest.mark.parametrize(
    ("stage", "error", "category"),
    [
        ("extract", errors.TranscriptError("no speaker"), "transcript_parse_error"),
        ("extract", errors.EmptyTranscriptError("blank"), "transcript_empty"),
        ("extract", errors.LLMResponseParseError("{", "no end"), "evidence_json_parse"),
        ("extract", errors.EvidenceSchemaError({"PHQ8_Sleep": "expected_list_got_str"}), "evidence_schema_invalid"),
        ("extract", errors.EvidenceGroundingError(3), "evidence_hallucination"),
        ("extract", errors.LLMTimeoutError(600), "evidence_llm_timeout"),
        ("embed", errors.EmbeddingValidationError("1 vector for 2 texts"), "embedding_invalid_vector"),
        ("embed", errors.EmbeddingDimensionMismatchError(384, 12), "embedding_dimension_mismatch"),
        ("embed", errors.EmbeddingArtifactMismatchError("other weights"), "reference_artifact_mismatch"),
        ("embed", errors.LLMTimeoutError(300), "embedding_timeout"),
        ("retrieve", errors.DomainError("leak", FailureCategory.REFERENCE_LEAK), "reference_leak"),
        ("rerank", errors.LLMTimeoutError(300), "rerank_timeout"),
        ("augment", errors.DomainError("too small"), "unknown"),
        ("rerank", errors.RerankerUnavailableError("no weights"), "rerank_error"),
        ("repair", errors.ReplyShapeError("", "no line"), "repair_reply_unusable"),
        ("validate", errors.LLMResponseParseError("yes", "not JSON"), "validation_json_parse"),
        ("validate", errors.LLMTimeoutError(600), "validation_llm_timeout"),
        ("score", errors.LLMResponseParseError("hm", "no object"), "scoring_json_parse"),
        ("score", errors.LLMTimeoutError(600), "scoring_llm_timeout"),
        ("score", errors.LLMError("too busy", status=503), "transport"),
        ("score", errors.LLMError("no such model", status=404), "llm_error"),
        ("score", httpx.ConnectError("refused"), "transport"),
        ("score", RuntimeError("surprise"), "unknown"),
        ("expand", errors.LLMResponseParseError("{", "no end"), "expansion_json_parse"),
        ("expand", errors.LLMTimeoutError(600), "expansion_llm_timeout"),
        ("expand", errors.TemplateError("{n} is missing"), "template_invalid"),
        ("validate", errors.NothingRelevantError("Nothing"), "nothing_relevant"),
        ("consolidate", errors.WorkChangedError(2), "input_changed"),
        ("generate", errors.LLMResponseParseError("", "blank"), "answer_unusable"),
        ("generate", errors.LLMTimeoutError(600), "answer_llm_timeout"),
    ],
)
def test_every_exception_has_its_category(stage: str, error: Exception, category: str) -> None:
    assert categorise(error, stage) == category


def test_what_concerns_every_subject_is_worse() -> None:
    assert FailureCategory.EMBEDDING_DIMENSION_MISMATCH.severity is FailureSeverity.FATAL
    assert FailureCategory.SCORING_LLM_TIMEOUT.severity is FailureSeverity.ERROR
    assert FailureCategory.GROUND_TRUTH_MISSING.severity is FailureSeverity.WARNING
