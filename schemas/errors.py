"""What can go wrong, as types.

`Refused` is a request that ragq refuses, with exit code 1; `DomainError` ends a stage without a valid output.

No message holds text of a transcript, a quote, a prompt or a reply: messages are written to logs and shown in Flower.
Such text stays in attributes, which workers store in Postgres alone.
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, Literal, Self, TypeAlias

Slug: TypeAlias = Literal[
    "corpus-missing",
    "document-missing",
    "document-replaced",
    "expansion-failed",
    "fork-refused",
    "idempotency-key-reused",
    "job-missing",
    "no-job-in-state",
    "nothing-to-do",
    "preset-exists",
    "preset-is-default",
    "preset-missing",
    "query-missing",
    "query-set-preset",
    "result-missing",
    "run-active",
    "run-missing",
    "run-name-taken",
    "run-value-unusable",
    "step-not-ready",
    "step-paused",
    "step-superseded",
    "vocabulary-missing",
    "work-missing",
]
"""Problems over HTTP that are not those of a class."""


class RagqError(Exception):
    """The base of every error that ragq raises. Its message is safe to log."""

    slug: str = "failed"
    """The last part of the type of the problem that it is over HTTP and in JSON of a command."""

    def __init__(self, message: str, *, slug: Slug | None = None) -> None:
        if slug is not None:
            self.slug = slug
        super().__init__(message)

    def __reduce__(self) -> tuple[Any, ...]:
        # By default a copy is made by the constructor from the message, which most constructors do not take; Celery
        # then shows monitors a base class instead.
        return type(self).__new__, (type(self), *self.args), vars(self)


class Refused(RagqError):
    """A request that ragq refuses; the message states what was found and what to do."""

    slug = "refused"


class StackError(Refused):
    """A server that is needed is unavailable, or cannot be started."""

    slug = "server-unavailable"


class SettingsError(Refused):
    """Settings that cannot be used. `problems` has a line for each; most begin with the name of their setting."""

    def __init__(self, problems: Sequence[str]) -> None:
        self.problems = tuple(problems)
        heading = "1 setting cannot be used:" if len(problems) == 1 else f"{len(problems)} settings cannot be used:"
        lines = [heading, *(f"- {problem}" for problem in problems)]
        super().__init__("\n".join([*lines, "`ragq config show --json` lists every setting and what it accepts."]))


class DuplicateWorkError(Refused):
    """The text of a work is in the corpus already. `title` names the work that has it, for people and not for logs."""

    def __init__(self, work_id: int, title: str) -> None:
        self.work_id = work_id
        self.title = title
        super().__init__(f"The same text is in the corpus already, as work {work_id}; nothing was imported.")


class WorkFileError(Refused):
    """A file that cannot be a work. `line` is the line of the file that is wrong, where there is one."""

    def __init__(self, name: str, problem: str, *, line: int | None = None) -> None:
        self.name = name
        self.problem = problem
        self.line = line
        super().__init__(f"{name}{'' if line is None else f':{line}'}: {problem}")


class WorkFilesError(Refused):
    """Files that cannot be works, by their places among the files of an import, from 0."""

    slug = "works-unusable"

    def __init__(self, files: Mapping[int, WorkFileError]) -> None:
        self.files = dict(files)
        super().__init__("\n".join(["Nothing was imported:", *(f"  {error}" for error in files.values())]))


class PresetValueError(Refused):
    """The values or the name of a preset are invalid; the message lists every problem. `problems` has a line for each
    value; most begin with its name."""

    slug = "preset-value-unusable"

    def __init__(self, message: str, *, problems: Sequence[str] = ()) -> None:
        self.problems = tuple(problems)
        super().__init__(message)


class MissingError(Refused):
    """What was named is not stored, or no longer."""


def run_missing(run_id: int) -> MissingError:
    """For a run."""
    return MissingError(f"Run r{run_id} does not exist. `ragq runs` lists those that do.", slug="run-missing")


class StageRunningError(Refused):
    """A change is refused while a stage is running."""

    slug = "stage-running"


class QueryValueError(Refused):
    """A value for a question is invalid. `field` names it, and `problem` completes the sentence."""

    slug = "query-value-unusable"

    def __init__(self, field: str, problem: str) -> None:
        self.field = field
        self.problem = problem
        super().__init__(f"{field} {problem}.")


class StepFailedError(Refused):
    """A stage of a query failed while a request waited for it; without a number the query was not stored. `error_type`
    is the class of the stage's error as it is stored, `module.Class`; the message shows the class alone."""

    slug = "step-failed"

    def __init__(
        self, query_id: int | None, job_id: int | None, stage: str, error_type: str, error_message: str
    ) -> None:
        self.query_id = query_id
        self.job_id = job_id
        self.stage = stage
        self.error_type = error_type
        self.error_message = error_message
        name = error_type.rpartition(".")[2]
        if query_id is None:
            self.slug = "expansion-failed"
            message = (
                f"The question cannot be expanded: {name}: {error_message.removesuffix('.')}. Nothing is stored. Ask "
                "again once the cause is removed, or send an expansion of your own: POST /rag/expansion/manual."
            )
        elif name == NothingRelevantError.__name__:
            http = f"Over HTTP, `POST /rag/queries/{query_id}/run` takes them as `settings` and `config_preset`."
            message = f"{error_message} {http}"
        else:
            message = (
                f"Stage '{stage}' of query {query_id} (job j{job_id}) failed with {name}: {error_message} "
                f"`ragq inspect j{job_id} {stage}` shows everything; once the cause is removed, run the step again, or "
                f"`ragq retry j{job_id}`."
            )
        super().__init__(message)


class FailureSeverity(StrEnum):
    """The severity of a failure."""

    #: The pipeline failed, or its results cannot be trusted: handle it first.
    FATAL = "fatal"
    #: One subject failed.
    ERROR = "error"
    #: A subject succeeded, and something about it could not be computed.
    WARNING = "warning"


class FailureCategory(StrEnum):
    """The category of a failure, for counting in reports, and its severity; without one it is an error."""

    severity: FailureSeverity

    def __new__(cls, value: str, severity: FailureSeverity = FailureSeverity.ERROR) -> Self:
        """A member of its value."""
        member = str.__new__(cls, value)
        member._value_, member.severity = value, severity
        return member

    TRANSCRIPT_NOT_FOUND = "transcript_not_found"
    TRANSCRIPT_PARSE_ERROR = "transcript_parse_error"
    TRANSCRIPT_EMPTY = "transcript_empty"
    INPUT_CHANGED = "input_changed"
    EVIDENCE_JSON_PARSE = "evidence_json_parse"
    EVIDENCE_SCHEMA_INVALID = "evidence_schema_invalid"
    EVIDENCE_HALLUCINATION = "evidence_hallucination"
    EVIDENCE_LLM_TIMEOUT = "evidence_llm_timeout"
    EMBEDDING_NAN = "embedding_nan"
    EMBEDDING_INF = "embedding_inf"
    EMBEDDING_ZERO_VECTOR = "embedding_zero_vector"
    EMBEDDING_INVALID_VECTOR = "embedding_invalid_vector"
    EMBEDDING_DIMENSION_MISMATCH = "embedding_dimension_mismatch", FailureSeverity.FATAL
    EMBEDDING_TEXT_TOO_LONG = "embedding_text_too_long"
    EMBEDDING_TIMEOUT = "embedding_timeout"
    REFERENCE_ARTIFACT_MISSING = "reference_artifact_missing", FailureSeverity.FATAL
    REFERENCE_ARTIFACT_CORRUPT = "reference_artifact_corrupt", FailureSeverity.FATAL
    REFERENCE_ARTIFACT_MISMATCH = "reference_artifact_mismatch", FailureSeverity.FATAL
    #: Refused at import and at submission: no stage raises it.
    REFERENCE_TAG_MISMATCH = "reference_tag_mismatch", FailureSeverity.FATAL
    REFERENCE_LEAK = "reference_leak", FailureSeverity.FATAL
    RERANK_ERROR = "rerank_error"
    RERANK_TIMEOUT = "rerank_timeout"
    VALIDATION_JSON_PARSE = "validation_json_parse"
    VALIDATION_LLM_TIMEOUT = "validation_llm_timeout"
    SCORING_JSON_PARSE = "scoring_json_parse"
    SCORING_SCHEMA_INVALID = "scoring_schema_invalid"
    SCORING_LLM_TIMEOUT = "scoring_llm_timeout"
    SCORING_RETRY_EXHAUSTED = "scoring_pydantic_retry_exhausted"
    EXPANSION_JSON_PARSE = "expansion_json_parse"
    EXPANSION_SCHEMA_INVALID = "expansion_schema_invalid"
    EXPANSION_LLM_TIMEOUT = "expansion_llm_timeout"
    CORPUS_MISSING = "corpus_missing"
    DOCUMENT_UNREADABLE = "document_unreadable"
    REPAIR_REPLY_UNUSABLE = "repair_reply_unusable"
    REPAIR_LLM_TIMEOUT = "repair_llm_timeout"
    SELECT_REPLY_UNUSABLE = "select_reply_unusable"
    SELECT_LLM_TIMEOUT = "select_llm_timeout"
    NOTHING_RELEVANT = "nothing_relevant"
    TEMPLATE_INVALID = "template_invalid"
    VOCABULARY_UNUSABLE = "vocabulary_unusable"
    TAG_CONTRACT_BROKEN = "tag_contract_broken"
    ANSWER_UNUSABLE = "answer_unusable"
    ANSWER_LLM_TIMEOUT = "answer_llm_timeout"
    #: Found by a report, like the next one: the participant has no item labels.
    GROUND_TRUTH_MISSING = "ground_truth_missing", FailureSeverity.WARNING
    GROUND_TRUTH_INVALID = "ground_truth_invalid", FailureSeverity.WARNING
    MODEL_CHANGED = "model_changed", FailureSeverity.FATAL
    LLM_ERROR = "llm_error"
    TRANSPORT = "transport"
    WORKER_LOST = "worker_lost", FailureSeverity.FATAL
    #: No failure: the stage was given back until its server of language models takes calls again.
    LLM_LIMIT = "llm_limit", FailureSeverity.WARNING
    #: No failure: the job was cancelled while the stage ran.
    CANCELLED = "cancelled", FailureSeverity.WARNING
    UNKNOWN = "unknown"


class DomainError(RagqError):
    """A stage cannot compute a valid output. Its job fails."""

    slug = "stage-failed"
    category: FailureCategory | None = None
    """For counting in reports; None if it follows from the stage, or is UNKNOWN."""

    def __init__(self, message: str, category: FailureCategory | None = None, *, slug: Slug | None = None) -> None:
        if category is not None:
            self.category = category
        super().__init__(message, slug=slug)


class TranscriptError(DomainError):
    """A transcript is missing or cannot be read."""

    category = FailureCategory.TRANSCRIPT_PARSE_ERROR


class EmptyTranscriptError(TranscriptError):
    """A transcript has no utterance with text."""

    category = FailureCategory.TRANSCRIPT_EMPTY


class WorkChangedError(DomainError):
    """The stored markdown of a work is not the one that a chunk's lines belong to."""

    slug = "work-changed"
    category = FailureCategory.INPUT_CHANGED

    def __init__(self, work_id: int) -> None:
        super().__init__(
            f"Work {work_id} has changed since it was cut into chunks or read; import it again and retry the job from "
            "stage 'retrieve'."
        )


class UnusableReply(DomainError):
    """A model's reply cannot be used. `problem` is the part of the message that a re-ask sends to the model. `calls` is
    the number of calls that gave no usable reply: the first and its re-asks."""

    problem: str
    calls: int = 1

    def count_calls(self, calls: int) -> None:
        """Record the calls, and name the re-asks in the message."""
        self.calls = calls
        if calls > 1:
            asked_again = "1 re-ask" if calls == 2 else f"{calls - 1} re-asks"
            self.args = (f"{str(self).removesuffix('.')} ({asked_again} did not help).",)


def listed_violations(violations: Mapping[str, str]) -> str:
    """What is wrong at each place."""
    return "; ".join(f"{place}: {wrong}" for place, wrong in violations.items())


class EvidenceSchemaError(UnusableReply, ValueError):
    """An extraction reply has the wrong shape. `violations` maps keys to what was found there."""

    category = FailureCategory.EVIDENCE_SCHEMA_INVALID

    def __init__(self, violations: dict[str, str]) -> None:
        self.violations = violations
        self.problem = listed_violations(violations)
        super().__init__(f"The extraction reply has the wrong shape: {self.problem}.")


class EvidenceGroundingError(UnusableReply, ValueError):
    """Quotes were extracted, and none of them is in the transcript."""

    category = FailureCategory.EVIDENCE_HALLUCINATION

    def __init__(self, rejected: int) -> None:
        self.problem = f"none of {rejected} extracted quotes is in the transcript"
        super().__init__(f"None of {rejected} extracted quotes is in the transcript.")


class LLMError(DomainError):
    """A call of a language model failed.

    `status` is the HTTP status where there was one: 429 and 5xx are faults of the server and may be temporary.
    `detail` is the text of the server's reply; it may quote the prompt and is kept out of the message and of repr().
    `retry_after_s` are the seconds after which the server wants to be asked again, where it named them.
    """

    def __init__(
        self, message: str, *, status: int | None = None, detail: str = "", retry_after_s: float | None = None
    ) -> None:
        self.status = status
        self.detail = detail
        self.retry_after_s = retry_after_s
        super().__init__(message)


class LLMResponseParseError(LLMError, UnusableReply):
    """A reply cannot be used. `raw_response` holds it and is kept out of the message and of repr()."""

    slug = "reply-unusable"

    def __init__(self, raw_response: str, parse_error: str, category: FailureCategory | None = None) -> None:
        self.raw_response = raw_response
        self.parse_error = self.problem = parse_error
        super().__init__(f"The model's reply cannot be used: {parse_error}")
        self.category = category


class ReplyShapeError(LLMResponseParseError):
    """A reply has the wrong shape: an object without a key, a line of another form."""


class LLMTimeoutError(LLMError):
    """A model did not answer in time."""

    def __init__(self, timeout_seconds: float) -> None:
        super().__init__(f"LLM request timed out after {timeout_seconds:g}s")


class ModelMissingError(LLMError):
    """A server does not have a model. `available` are those that it has."""

    def __init__(self, server: str, model: str, available: Sequence[str], *, is_embedded: bool = False) -> None:
        self.server = server
        self.model = model
        self.remedy = (
            "It is the embedded server, whose models are those of `--profile demo`; for another model set OLLAMA_HOST "
            "to a server that has it, then `ragq down` and `ragq up`."
            if is_embedded
            else f"Fetch it with `ollama pull {model}`, or name one that `ollama list` shows."
        )
        names = ", ".join(available) or "none"
        super().__init__(f"{server} has no model '{model}'. It has: {names}. {self.remedy}", status=404)


class EmbeddingDimensionMismatchError(DomainError):
    """A vector has another dimension than the settings ask for."""

    category = FailureCategory.EMBEDDING_DIMENSION_MISMATCH

    def __init__(self, expected: int, actual: int) -> None:
        super().__init__(f"Expected vectors of {expected} dimensions, got {actual}.")


class EmbeddingValidationError(DomainError):
    """A vector is not a finite, non-zero row of numbers, or there are too few or too many."""

    category = FailureCategory.EMBEDDING_INVALID_VECTOR


class TextTooLongError(DomainError):
    """A text is longer than its embedder reads, and was to be embedded whole. `position` counts from 0."""

    category = FailureCategory.EMBEDDING_TEXT_TOO_LONG

    def __init__(
        self, model: str, position: int, *, texts: int, chars: int, tokens: int | None = None, limit: int | None = None
    ) -> None:
        self.position = position
        length = f"{chars} characters" if tokens is None else f"{chars} characters, {tokens} tokens"
        reads = "" if limit is None else f" ({limit} tokens)"
        super().__init__(
            f"Text {position + 1} of {texts} ({length}) is longer than '{model}' reads{reads}, and nothing was cut. "
            "Set RAGQ_LONG_TEXTS=truncate to cut such texts and count them, lower EMBEDDING_CHUNK_SIZE if it is a "
            "chunk of an index, or choose an embedder with a longer context."
        )


class EmbeddingArtifactMismatchError(DomainError):
    """A reference index or its files are missing, broken, or built with other settings; one message lists all."""

    slug = "index-mismatch"
    category = FailureCategory.REFERENCE_ARTIFACT_MISMATCH


class RerankerUnavailableError(DomainError):
    """The weights of a cross-encoder cannot be loaded."""

    category = FailureCategory.RERANK_ERROR


class DocumentError(DomainError):
    """A document that cannot become a work; `problem` never quotes it. `page` is the page of a PDF, from 1, at which
    its reader ended; None where there is none."""

    category = FailureCategory.DOCUMENT_UNREADABLE

    def __init__(self, problem: str, *, page: int | None = None) -> None:
        self.problem = problem
        self.page = page
        where = "" if page is None else f"at page {page} "
        super().__init__(f"The document cannot be imported: {where}{problem}{'' if problem.endswith('?') else '.'}")


class TemplateError(DomainError, ValueError):
    """A prompt template cannot be filled in: braces that do not pair, placeholders that are unknown or missing."""

    slug = "template-unusable"
    category = FailureCategory.TEMPLATE_INVALID


class TemplateMissingError(DomainError):
    """A version of a prompt template is not stored, or none of its versions is active."""

    slug = "template-missing"


class NothingRelevantError(DomainError):
    """No chunk is left for the answer to use. `changes` are values of a preset that leave some, and `setting` is the
    value of a setting that does."""

    category = FailureCategory.NOTHING_RELEVANT

    def __init__(self, found: str, *changes: str, setting: str | None = None) -> None:
        self.changes = changes
        self.setting = setting
        super().__init__(f"{found}.")

    def advise(self, query_id: int, job_id: int, stage: str) -> None:
        """Add the commands that run the query with other values to the message."""
        if self.setting is not None:
            again = f"`ragq fork j{job_id} --from {stage} --set {self.setting}` answers all the same."
            self.args = (f"{self} {again}",)
            return
        run = f"ragq query run {query_id}"
        options = " ".join(f"--set {change}" for change in self.changes)
        self.args = (
            f"{self} `{run} {options}` runs it with other values, `{run} --preset NAME` with those of another preset, "
            f"and `{run} --set validation.allow_empty=true` continues without sources.",
        )
