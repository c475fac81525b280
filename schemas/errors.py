"""What can go wrong, as types.

`Refused` is a request that ragq refuses, with exit code 1; `DomainError` ends a stage without a valid output.

No message holds text of a transcript, a quote, a prompt or a reply: messages are written to logs and shown in Flower.
Such text stays in attributes, which workers store in Postgres alone.
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, Literal, TypeAlias


class RagqError(Exception):
    """The base of every error that ragq raises. Its message is safe to log."""

    slug: str = "failed"
    """The last part of the type of the problem that it is over HTTP and in JSON of a command."""

    def __reduce__(self) -> tuple[Any, ...]:
        # By default a copy is made by the constructor from the message, which most constructors do not take; Celery
        # then shows monitors a base class instead.
        return _copied, (type(self), self.args), vars(self)


def _copied(kind: type[RagqError], args: tuple[Any, ...]) -> RagqError:
    error = kind.__new__(kind, *args)
    error.args = args
    return error


Slug: TypeAlias = Literal[
    "corpus-missing",
    "document-replaced",
    "expansion-failed",
    "fork-refused",
    "heading-missing",
    "idempotency-key-reused",
    "no-job-in-state",
    "nothing-to-do",
    "preset-missing",
    "query-set-preset",
    "result-missing",
    "run-active",
    "run-name-taken",
    "run-value-unusable",
    "step-not-ready",
    "step-paused",
    "step-superseded",
    "vocabulary-missing",
    "work-missing",
]
"""Problems over HTTP that no class stands for."""


class Refused(RagqError):
    """A request that ragq refuses; the message states what was found and what to do. `slug` names a problem over HTTP
    that is not that of the class."""

    slug = "refused"

    def __init__(self, message: str, *, slug: Slug | None = None) -> None:
        if slug is not None:
            self.slug = slug
        super().__init__(message)


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


class ModelUnavailableError(Refused):
    """The server that the running workers ask does not have a model of a submission."""


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

    @property
    def reason(self) -> str:
        """What is wrong, and in which line."""
        return self.problem if self.line is None else f"line {self.line}: {self.problem}"


class DocumentReaderMissingError(Refused):
    """The packages that read PDF, EPUB and office documents are not installed."""

    def __init__(self) -> None:
        super().__init__("PDF, EPUB, HTML, DOCX, ODT, RST need more packages: pip install pypandoc-binary pypdfium2.")


class WorkFilesError(Refused):
    """Files that cannot be works, by their places among the files of an import, from 0."""

    slug = "works-unusable"

    def __init__(self, files: Mapping[int, WorkFileError]) -> None:
        self.files = dict(files)
        super().__init__("\n".join(["Nothing was imported:", *(f"  {error}" for error in files.values())]))


class DocumentMissingError(Refused):
    """What was named is no document that went through stages, or its stage is not stored."""

    slug = "document-missing"


class PresetExistsError(Refused):
    """A preset of this name, compared without case, is stored already."""

    slug = "preset-exists"


class PresetValueError(Refused):
    """The values or the name of a preset are invalid; the message lists every problem.

    `problems` has a line for each value; most begin with its name.
    """

    slug = "preset-value-unusable"

    def __init__(self, message: str, *, problems: Sequence[str] = ()) -> None:
        self.problems = tuple(problems)
        super().__init__(message)


class DefaultPresetError(Refused):
    """The default preset cannot be deleted."""

    slug = "preset-is-default"


class RunMissingError(Refused):
    """A run is not stored, or no longer."""

    slug = "run-missing"

    def __init__(self, run_id: int) -> None:
        super().__init__(f"Run r{run_id} does not exist. `ragq runs` lists those that do.")


class JobMissingError(Refused):
    """A job is not stored, or no longer."""

    slug = "job-missing"

    def __init__(self, job_id: int) -> None:
        super().__init__(f"Job j{job_id} does not exist. `ragq runs` lists the runs, `ragq show RUN` their jobs.")


class QueryMissingError(Refused):
    """A question is not stored, or no longer."""

    slug = "query-missing"

    def __init__(self, query_id: int) -> None:
        super().__init__(f"There is no query {query_id}. `ragq query list` shows those there are.")


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
    """A stage of a query failed while a request waited for it; without a number the query was not stored.

    `error_type` is the class of the stage's error as it is stored, `module.Class`; the message shows the class alone.
    """

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


class DomainError(RagqError):
    """A stage cannot compute a valid output. Its job fails."""

    slug = "stage-failed"


class TranscriptError(DomainError):
    """A transcript is missing or cannot be read."""


class TranscriptNotFoundError(TranscriptError):
    """A transcript is not stored, or no longer."""


class EmptyTranscriptError(TranscriptError):
    """A transcript has no utterance with text."""


class InputChangedError(DomainError):
    """What a run was submitted with is no longer what is stored."""


class ReferenceTextError(InputChangedError):
    """The text of a retrieved chunk is gone, or is another one."""

    def __init__(self, chunk_id: int, participant_id: int, *, is_gone: bool) -> None:
        self.is_gone = is_gone
        found = "is gone" if is_gone else "has another text now"
        super().__init__(
            f"Chunk {chunk_id} of participant {participant_id} {found} since it was retrieved; "
            "retry the job from stage 'retrieve'."
        )


class WorkChangedError(InputChangedError):
    """The stored markdown of a work is not the one that a chunk's lines belong to."""

    slug = "work-changed"

    def __init__(self, work_id: int) -> None:
        super().__init__(
            f"Work {work_id} has changed since it was cut into chunks or read; import it again and retry the job from "
            "stage 'retrieve'."
        )


class ChunksGoneError(InputChangedError):
    """Chunks that a stage works on are no longer stored."""

    def __init__(self, chunk_ids: Sequence[int]) -> None:
        super().__init__(
            f"{len(chunk_ids)} retrieved chunks are no longer stored, chunk {chunk_ids[0]} first; "
            "retry the job from stage 'retrieve'."
        )


class UnusableReply(DomainError):
    """A model's reply cannot be used.

    `problem` is the part of the message that a re-ask sends to the model. `calls` is the number of calls that gave no
    usable reply: the first and its re-asks.
    """

    problem: str
    calls: int = 1

    def count_calls(self, calls: int) -> None:
        """Record the calls, and name the re-asks in the message."""
        self.calls = calls
        if calls > 1:
            asked_again = "1 re-ask" if calls == 2 else f"{calls - 1} re-asks"
            self.args = (f"{str(self).removesuffix('.')} ({asked_again} did not help).",)


class EvidenceSchemaError(UnusableReply, ValueError):
    """An extraction reply has the wrong shape. `violations` maps keys to what was found there."""

    def __init__(self, violations: dict[str, str]) -> None:
        self.violations = violations
        self.problem = "; ".join(f"{key}: {violation}" for key, violation in violations.items())
        super().__init__(f"The extraction reply has the wrong shape: {self.problem}.")


class EvidenceGroundingError(UnusableReply, ValueError):
    """Quotes were extracted, and none of them is in the transcript."""

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

    def __init__(self, raw_response: str, parse_error: str) -> None:
        self.raw_response = raw_response
        self.parse_error = self.problem = parse_error
        super().__init__(f"The model's reply cannot be used: {parse_error}")


class ReplyShapeError(LLMResponseParseError):
    """A reply is an object of the wrong shape. `violations` maps places to what is wrong there."""

    def __init__(self, raw_response: str, violations: dict[str, str]) -> None:
        self.violations = violations
        super().__init__(raw_response, "; ".join(f"{place}: {wrong}" for place, wrong in violations.items()))


class ExpansionReplyError(ReplyShapeError):
    """A model's or a pasted expansion is an object of the wrong shape."""


class HeadingReplyError(LLMResponseParseError):
    """A model's or a pasted reply does not give each heading of a document a line of the right form."""


class ScoringSchemaError(ReplyShapeError):
    """A scoring reply is an object of the wrong shape."""


class ScoringRetriesExhausted(LLMResponseParseError):
    """No reply could be used, with all retries; `raw_response` is the last one."""

    def __init__(self, raw_response: str, parse_error: str, retries: int) -> None:
        self.calls = retries + 1
        super().__init__(raw_response, f"{retries} retries did not help; the last time {parse_error}")


class LLMTimeoutError(LLMError):
    """A model did not answer in time."""

    def __init__(self, timeout_seconds: float) -> None:
        super().__init__(f"LLM request timed out after {timeout_seconds:g}s")


class ModelMissingError(LLMError):
    """A server does not have a model. `available` are those that it has."""

    def __init__(self, server: str, model: str, available: Sequence[str], *, is_embedded: bool = False) -> None:
        self.server = server
        self.model = model
        remedy = (
            "It is the embedded server, whose models are those of `--profile demo`; for another model set OLLAMA_HOST "
            "to a server that has it, then `ragq down` and `ragq up`."
            if is_embedded
            else f"Fetch it with `ollama pull {model}`, or name one that `ollama list` shows."
        )
        names = ", ".join(available) or "none"
        super().__init__(f"{server} has no model '{model}'. It has: {names}. {remedy}", status=404)


class ModelChangedError(DomainError):
    """A language model is another one than the run began with."""


class EmbeddingDimensionMismatchError(DomainError):
    """A vector has another dimension than the settings ask for."""

    def __init__(self, expected: int, actual: int) -> None:
        super().__init__(f"Expected vectors of {expected} dimensions, got {actual}.")


class VectorDefect(StrEnum):
    """Why a vector has no direction."""

    NAN = "nan"
    INFINITE = "infinite"
    ZERO = "zero"


class EmbeddingValidationError(DomainError):
    """A vector is not a finite, non-zero row of numbers. `defect` says why; None when there are too few or too many."""

    def __init__(self, message: str, *, defect: VectorDefect | None = None) -> None:
        self.defect = defect
        super().__init__(message)


class TextTooLongError(DomainError):
    """A text is longer than its embedder reads, and was to be embedded whole. `position` counts from 0."""

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


class ReferenceIndexMissingError(EmbeddingArtifactMismatchError):
    """The reference index of a run is no longer stored."""

    def __init__(self, index_id: int) -> None:
        super().__init__(f"Reference index {index_id} is not stored; build it again and submit again.")


class RerankError(DomainError):
    """A cross-encoder cannot be used, or did not return one finite score per passage."""


class RerankerUnavailableError(RerankError):
    """The weights of a cross-encoder cannot be loaded."""


class ReferenceLeakError(DomainError):
    """Somebody whom the run assesses was retrieved as a reference."""

    def __init__(self, participant_id: int, index_id: int) -> None:
        super().__init__(
            f"Reference index {index_id} returned chunks of participant {participant_id}, whom the run excludes; "
            "the search must exclude the participants of the run's own split."
        )


class VocabularyError(DomainError):
    """A vocabulary cannot be searched."""


class VocabularyMissingError(VocabularyError):
    """A vocabulary is not stored, or no longer."""

    def __init__(self, vocabulary_id: int) -> None:
        super().__init__(f"Vocabulary {vocabulary_id} is not stored; import it again and submit again.")


class TagContractError(DomainError):
    """Candidates for tags break their contract."""


class CorpusMissingError(DomainError):
    """The corpus of a query is no longer stored."""

    slug = "corpus-missing"

    def __init__(self, corpus_id: int) -> None:
        super().__init__(f"Corpus {corpus_id} is not stored; import its works again and submit again.")


class DocumentError(DomainError):
    """A document that cannot become a work; `problem` never quotes it. `page` is the page of a PDF, from 1, at which
    its reader ended; None where there is none."""

    def __init__(self, problem: str, *, page: int | None = None) -> None:
        self.problem = problem
        self.page = page
        where = "" if page is None else f"at page {page} "
        super().__init__(f"The document cannot be imported: {where}{problem}{'' if problem.endswith('?') else '.'}")


class TemplateError(DomainError, ValueError):
    """A prompt template cannot be filled in: braces that do not pair, placeholders that are unknown or missing."""

    slug = "template-unusable"


class TemplateMissingError(DomainError):
    """A version of a prompt template is not stored, or none of its versions is active."""

    slug = "template-missing"


class ContextTooSmallError(DomainError):
    """The context of a model has no room for a single source."""


class NothingRelevantError(DomainError):
    """No chunk is left for the answer to use. `changes` are values of a preset that leave some, and `setting` is the
    value of a setting that does."""

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
