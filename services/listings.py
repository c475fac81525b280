"""Lists of what is stored, each declared once: the tables that commands and pages draw."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final
from urllib.parse import quote

from schemas.chains import in_order
from schemas.settings.base import allowed, value_in_words
from schemas.settings.preset import PRESET_SETTINGS, Preset, differing_values
from schemas.settings.profiles import Changed
from schemas.statuses import StageStatus
from schemas.values.documents import CorpusView, WorkView
from schemas.values.tags import Candidate, PhraseReport, StoredVocabulary, Tag
from stages.reports.tables import UI, Cell, Figure, Listing, Moment, Ref, State, StateKind, Table
from store.references.references import StoredIndex
from store.runs.attempts import Attempt
from store.runs.jobs import StageRun
from store.runs.run_view import JobView


def _readiness(corpus: CorpusView) -> State:
    if corpus.failed:
        waiting = corpus.waiting - corpus.failed
        return State(f"{corpus.failed} failed" + (f", {waiting} waiting" if waiting else ""), "bad")
    if corpus.waiting:
        return State(f"{corpus.waiting} waiting", "wait")
    return State("ready", "good") if corpus.searchable else State("empty", "idle")


def _language(corpus: CorpusView) -> str:
    """Followed by the configuration of full text where that has no dictionary for it."""
    named = corpus.language or "not known yet"
    return named if corpus.full_text == corpus.language else f"{named} ({corpus.full_text})"


CORPORA: Final = Listing[CorpusView](
    "Corpora",
    {
        "corpus": lambda one: Ref(one.name, f"{UI}/corpora/{one.id}"),
        "works": lambda one: one.works,
        "searchable chunks": lambda one: one.searchable,
        "state": _readiness,
        "questions": lambda one: one.questions,
        "embedded by": lambda one: one.model,
        "dimensions": lambda one: one.dimension,
        "language": _language,
        "made": lambda one: Moment(one.created_at),
    },
    words={"state", "embedded by", "language", "made"},
    none="There is no corpus yet. `ragq import works PATH` makes one.",
)


def _searchability(work: WorkView) -> State:
    is_whole = work.chunks and work.chunks == work.searchable
    return State("searchable", "good") if is_whole else State(f"{work.searchable} of {work.chunks} searchable", "wait")


WORKS: Final = Listing[WorkView](
    "Works",
    {
        "work": lambda one: one.id,
        "title": lambda one: Ref(one.title, f"{UI}/works/{one.id}"),
        "authors": lambda one: one.authors,
        "year": lambda one: None if one.year is None else str(one.year),
        "chunks": lambda one: one.chunks,
        "state": _searchability,
        "job": lambda one: None if one.job_id is None else Ref(f"j{one.job_id}", f"{UI}/jobs/{one.job_id}"),
        "source": lambda one: one.source_path,
        "imported": lambda one: Moment(one.updated_at),
    },
    words={"title", "authors", "state", "job", "source", "imported"},
    none="No work is imported yet. `ragq import works PATH --corpus NAME` imports some.",
)

VOCABULARIES: Final = Listing[StoredVocabulary](
    "Vocabularies",
    {
        "vocabulary": lambda one: Ref(one.name, f"{UI}/vocabularies/{quote(one.name)}"),
        "tags": lambda one: one.tags,
        "aliases": lambda one: one.aliases,
        "documents": lambda one: one.documents,
        "model": lambda one: State("none yet", "wait") if one.model is None else State(one.model, "good"),
        "imported": lambda one: Moment(one.imported_at),
    },
    words={"model", "imported"},
    none="There is no vocabulary yet. `ragq import tags DIR` imports one, `ragq index tags NAME` builds its models.",
)

TAGS: Final = Listing[Tag](
    "Tags",
    {
        "tag": lambda one: one.name,
        "title": lambda one: one.title,
        "category": lambda one: one.category,
        "uses": lambda one: one.count,
        "NSFW": lambda one: _score(one.nsfw_probability, digits=2),
    },
    words={"title", "category"},
    none="The vocabulary has no tags.",
)


def _scorer(one: StoredIndex) -> str | None:
    meta = one.chunk_scores_meta
    if meta is None:
        return None
    return (meta.scorer_model or "unknown scorer") + (" (the assessing model)" if meta.allow_same_model else "")


INDEXES: Final = Listing[StoredIndex](
    "Reference indexes",
    {
        "name": lambda one: one.name,
        "split": lambda one: one.source,
        "transcripts": lambda one: one.variant,
        "identity": lambda one: one.identity,
        "participants": lambda one: f"{one.participants} (partial)" if one.partial else one.participants or 0,
        "chunks": lambda one: one.chunks or 0,
        "model": lambda one: one.model,
        "dimensions": lambda one: one.dimension,
        "chunking": lambda one: f"{one.chunk_size} lines every {one.chunk_step}",
        "chunk scores": _scorer,
        "evidence": lambda one: one.evidence,
        "published": lambda one: None if one.published_at is None else Moment(one.published_at),
    },
    words={"split", "transcripts", "identity", "model", "chunking", "chunk scores", "evidence", "published"},
    none="No index is built yet. `ragq index references --wait` builds that of a split.",
)


def candidates_table(candidates: Iterable[Candidate], ranks: Mapping[str, int] | None = None) -> Table:
    """Candidate tags of a set of phrases, best first; with `ranks`, the best rank of each for a phrase."""
    rows = (
        (
            one.shown,
            *map(_score, (one.score_combined, one.similarity, one.score_fasttext, one.score_context)),
            "" if one.count is None else one.count,
            *(() if ranks is None else (ranks.get(one.tag, ""),)),
            ", ".join(one.sources),
        )
        for one in candidates
    )
    rank = () if ranks is None else ("rank",)
    columns = ("tag", "combined", "similarity", "FastText", "context", "uses", *rank, "phrases")
    return Table("Candidate tags", columns, tuple(rows), texts=("phrases",))


def phrase_table(report: PhraseReport) -> Table:
    """Every tag that was found for a phrase, before the cut."""
    rows = (
        (
            one.shown,
            one.alias_token,
            *map(_score, (one.score_combined, one.similarity, one.score_fasttext, one.score_characters)),
            *map(_score, (one.score_sentence, one.score_spelling)),
            f"{_score(one.score_context)}{' (imputed)' if one.context_imputed else ''}",
            "" if one.count is None else one.count,
        )
        for one in report.candidates
    )
    scores = ("combined", "similarity", "FastText", "characters", "sentence", "spelling", "context")
    return Table(report.normalized, ("tag", "by token", *scores, "uses"), tuple(rows), texts=("by token",))


def _score(value: float | None, digits: int = 3) -> Cell:
    return "" if value is None else Figure(value, digits)


def values_table(preset: Preset) -> Table:
    """Every value of a preset, with what it accepts and does; those that differ from ragq's own are marked."""
    differing = differing_values(preset.values())
    rows = []
    for name, value in preset.values().items():
        setting = PRESET_SETTINGS[name]
        mark = " *" if name in differing else ""
        rows.append((name, f"{value_in_words(value)}{mark}", allowed(setting), setting.description))
    return Table("Values", ("value", "now", "allowed", "effect"), tuple(rows), texts=("now", "allowed", "effect"))


def changed_table(changed: Changed, profile: str) -> Table:
    """The settings of a run that differ from its profile, and where each value comes from."""
    rows = (
        (
            name,
            value_in_words(one["value"]),
            "" if one["profile"] is None else value_in_words(one["profile"]),
            one["source"],
        )
        for name, one in changed.items()
    )
    columns = ("changed setting", "value", f"profile {profile}", "from")
    return Table("Settings that differ from the profile", columns, tuple(rows), texts=columns)


_KINDS: Final[dict[str, StateKind]] = {
    **dict.fromkeys(("succeeded", "done"), "good"),
    **dict.fromkeys(("failed", "poisoned"), "bad"),
    **dict.fromkeys(("running", "interrupted", "paused"), "wait"),
}


def jobs_table(kind: str, jobs: Sequence[JobView]) -> Table:
    """Jobs of a kind with how each stage stands; of those that were validated or called models, columns of these."""
    stages = in_order(kind, {stage.stage for job in jobs for stage in job.stages})
    optional: dict[str, Callable[[JobView], Cell]] = {}
    if "validate" in stages:
        optional["kept / rejected"] = _kept
    if "validate" in stages or any(job.llm_paid or job.llm_reused for job in jobs):
        optional["LLM calls"] = lambda job: _calls(job.llm_paid, job.llm_reused)
    rows = []
    for job in jobs:
        stage_of = {stage.stage: stage for stage in job.stages}
        about = Ref(f"j{job.job_id}", f"{UI}/jobs/{job.job_id}"), job.subject, job.mode, _state(job.status)
        counts = (count(job) for count in optional.values())
        rows.append((*about, *(_stage(stage_of.get(stage)) for stage in stages), *counts, f"{job.seconds:.1f} s"))
    columns = ("job", "subject", "mode", "status", *stages, *optional, "took")
    return Table("Jobs by stages", columns, tuple(rows), texts=("subject", "mode", "status", *stages))


def _kept(job: JobView) -> Cell:
    return f"{job.kept} / {job.rejected}" if job.kept or job.rejected else ""


def _calls(paid: int, reused: int) -> str:
    return f"{paid}" + (f" (+{reused} reused)" if reused else "")


def _state(status: str) -> State:
    return State(status, _KINDS.get(status, "idle"))


def _stage(stage: StageRun | None) -> Cell:
    """How long the last attempt took, after how the stage stands unless it is done; nothing before its turn."""
    if stage is None or stage.status is StageStatus.WAITING:
        return ""
    status = "" if stage.status is StageStatus.DONE else stage.status
    took = "" if stage.seconds is None else f"{stage.seconds:.1f} s"
    again = f"×{stage.attempts}" if stage.attempts > 1 else ""
    return State(" ".join(filter(None, (status, took, again))), _KINDS.get(stage.status, "idle"))


def attempts_table(attempts: Iterable[Attempt]) -> Table:
    """The attempts of a job, with what each took and stored."""
    rows = (
        (
            Ref(f"{one.stage} {one.number}", f"#attempt-{one.id}"),
            _state(one.outcome),
            Moment(one.started_at),
            f"{one.seconds:.2f} s",
            one.worker_id if one.host is None else f"{one.host} {one.pid}",
            _calls(one.paid, one.reused) if one.calls else "",
            "{} / {}".format(*one.paid_tokens) if one.paid else "",
            one.vectors or "",
            (one.hash or "")[:12],
            "" if one.error is None else one.error.message,
        )
        for one in attempts
    )
    figures = ("LLM calls", "tokens in / out", "vectors")
    columns = ("attempt", "outcome", "began", "took", "worker", *figures, "hash", "error")
    return Table("Attempts", columns, tuple(rows), texts=("outcome", "began", "worker", "hash", "error"))
