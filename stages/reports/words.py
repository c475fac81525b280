"""Runs and their numbers in words, the same wherever they are shown. None is "N/A", never 0."""

from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Any, Final

from schemas.full_text import SIMPLE
from schemas.values.queries import AnswerBasis, ContextSource
from schemas.values.reports import Report
from schemas.values.runs import Environment, RunLimitState, RunOrigin
from schemas.values.scoring import LEAST, Interval
from stages.texts.characters import listed

#: Shown with runs of the profile `demo`, by kind; other kinds do not use its language model.
DEMO_NOTICES = {
    "participant": "Profile demo: evidence is chosen by similarity, and a 135M model judges it and scores the items. "
    "Demo model: results are not meaningful.",
    "query": "Profile demo: a 135M model expands, judges and answers. Demo model: results are not meaningful.",
    "evaluation": "Profile demo: a 135M model judges the answers. Demo model: results are not meaningful.",
}

#: Shown with runs of other profiles whose items that language model scores.
DEMO_MODEL_NOTICE = "A 135M model scores the items. Demo model: results are not meaningful."

#: Shown with runs that no language model scores.
NEIGHBOURS_NOTICE = (
    "No language model scores: each score is the mean of those of the training participants with the nearest evidence, "
    "a baseline. The references, and the settings that choose them, change no score. "
    "Zero-shot mode needs a model, and is left out."
)

#: Shown with every answer that it writes.
DEMO_ANSWER_NOTICE = "A 135M model wrote this answer. Demo model: results are not meaningful."

#: Shown with every run whose references have scores that the assessing model itself assigned.
CIRCULAR_NOTICE = "MODEL_QUANTITATIVE_MODEL scored the chunks of the index too: it is shown its own labels as examples."

#: The fields of a request in a list of runs, in this order.
_ASKED = ("index", "corpus", "preset", "vocabulary", "limit")


def asked_for(request: Mapping[str, Any]) -> str:
    """The request of a run, in names and numbers; empty if it has none."""
    marks = {"overlap": "with overlap", "left_parity": "parity left"}
    return " ".join(
        [
            *([where] if (where := split_in_words(request)) else []),
            *(str(request[key]) for key in _ASKED if request.get(key)),
            *(mark for key, mark in marks.items() if request.get(key)),
            *([f"answers of r{request['evaluates']}"] if request.get("evaluates") else []),
            *([f"fork of r{fork['run']} from {fork['from']}"] if (fork := request.get("fork")) else []),
        ]
    )


def split_in_words(request: Mapping[str, Any]) -> str:
    """The split of a run with its data set, or the data set alone; empty for a run of other kinds.

    >>> split_in_words({"data_set": "clinic", "split": "paper-test"})
    'clinic/paper-test'
    """
    data_set, split = request.get("data_set"), request.get("split")
    if data_set and split:
        return f"{data_set}/{split}"
    return split or (f"data set {data_set}" if data_set else "")


def variants_in_words(request: Mapping[str, Any]) -> str:
    """The transcript variants of a run, and the reference index that it searches; empty for runs of other kinds.

    >>> searched = {"index": "minilm_paper_train", "data_set": "clinic", "split": "paper-train"}
    >>> variants_in_words({"variants": {"transcripts": {"raw": 41}, "index": "raw"}, "searched": searched})
    'transcripts raw (41), index minilm_paper_train (clinic/paper-train) of raw transcripts'
    """
    variants = request.get("variants") or {}
    counted = [f"{variant} ({count})" for variant, count in (variants.get("transcripts") or {}).items()]
    index = [f"{index_in_words(request)} of {variants['index']} transcripts"] if variants.get("index") else []
    return ", ".join([*([f"transcripts {' '.join(counted)}"] if counted else []), *index])


def index_in_words(request: Mapping[str, Any]) -> str:
    """The reference index that a run searches, with the split that it was built of.

    >>> index_in_words({"searched": {"index": "minilm_paper_train", "data_set": "clinic", "split": "paper-train"}})
    'index minilm_paper_train (clinic/paper-train)'
    """
    searched = request.get("searched")
    return f"index {searched['index']} ({searched['data_set']}/{searched['split']})" if searched else "index"


def limits_in_words(limits: RunLimitState) -> str:
    """The limits of a run, and what counts towards them.

    >>> from schemas.values.runs import RunLimitState
    >>> limits_in_words(RunLimitState(max_failures="10%", max_llm_calls=20, llm_calls=12))
    'stops at 10% failed jobs; 12 of 20 language model calls'
    """
    parts = [] if limits.max_failures is None else [f"stops at {limits.max_failures} failed jobs"]
    if limits.max_llm_calls is not None:
        parts.append(f"{limits.llm_calls} of {limits.max_llm_calls} language model calls")
    if limits.max_tokens is not None:
        parts.append(f"{limits.tokens} of {limits.max_tokens} tokens")
    return "; ".join(parts)


def notices(kind: str, profile: str, request: Mapping[str, Any]) -> Iterator[str]:
    """Notices about a run's results."""
    if profile == "demo" and (notice := DEMO_NOTICES.get(kind)):
        yield notice
    elif request.get("demo_model"):
        yield DEMO_MODEL_NOTICE
    elif request.get("scorer") == "neighbours":
        yield NEIGHBOURS_NOTICE
    if left := request.get("left_parity"):
        yield f"Parity with the paper's notebook is left by {', '.join(left)}: compare with none of its figures."
    if overlap := request.get("overlap"):
        people = overlap["participants"]
        yield (
            f"Overlap allowed: {len(people)} participants of reference index '{overlap['index']}' are assessed here or "
            f"in the same split: {listed(people)}. Their chunks were left out of every search."
        )
    yield from _notices_of_variants(request)
    if unknown := request.get("unknown_documents"):
        yield f"{unknown} relevant documents of the judgements are in no corpus that is asked: no search finds them."
    if fork := request.get("fork"):
        yield f"Fork of r{fork['run']}: the stages before '{fork['from']}' are copied from that run, not computed."
    if draw := request.get("draw"):
        yield f"Draw {draw}: language models were asked anew; no answer of another draw was used."
    if left_out := request.get("left_out_references"):
        yield f"The reference index lacks participant {', '.join(map(str, left_out))}."
    if unlabelled := request.get("unlabelled_references"):
        yield (
            f"{len(unlabelled)} participants of the reference index have no item scores: {listed(unlabelled)}. Their "
            "chunks take places among the references and are not shown."
        )
    if cut := request.get("cut_chunks"):
        yield (
            f"{cut['cut']} of the {cut['chunks']} chunks of the reference index are longer than the embedder reads, "
            "and were cut for it; prompts show them whole."
        )
    chunk_scores = request.get("chunk_scores") or {}
    if chunk_scores.get("is_circular"):
        yield CIRCULAR_NOTICE
    if prompt := chunk_scores.get("other_prompt"):
        scorer = chunk_scores.get("scorer_model") or "a scorer without a name"
        yield f"Chunk scores of the references: by {scorer} with a prompt that is not ragq's ({prompt})."


def _notices_of_variants(request: Mapping[str, Any]) -> Iterator[str]:
    variants = request.get("variants") or {}
    transcripts, index = variants.get("transcripts") or {}, variants.get("index")
    counted = ", ".join(f"{variant} ({count})" for variant, count in transcripts.items())
    if len(transcripts) > 1:
        yield f"The transcripts are of several variants: {counted}."
    if "unknown" in (*transcripts, index):
        whose = {"transcripts": "unknown" in transcripts, "reference index": index == "unknown"}
        yield (
            f"Transcript variant of {' and '.join(name for name, is_so in whose.items() if is_so)} unknown: stored "
            "before variants were recorded, or from files that do not name theirs. `ragq import participants DIR` and "
            "`ragq index references` record them."
        )


def interval_words(report: Report) -> str:
    """One line, without a capital at its start and without a full stop."""
    measures = report.measures
    evaluated = max((experiment.results.evaluated_subjects for experiment in report.experiments), default=0)
    if 0 < evaluated < LEAST:
        return f"{counted(evaluated, 'evaluated participant')}: too few for an interval, which takes {LEAST}"
    return (
        f"95 % percentile intervals over {measures.bootstrap_resamples} resamples of participants "
        f"(seed {measures.bootstrap_seed})"
    )


def origin_words(origin: RunOrigin) -> Iterator[str]:
    """A line for each environment, each model, and the servers that no model names."""
    for one in origin.workers:
        yield f"Computed with {_environment(one.environment)}: {one.stages} stages."
    if origin.submitter is not None and origin.submitter not in [one.environment for one in origin.workers]:
        yield f"Submitted with {_environment(origin.submitter)}."
    for model in origin.models:
        quantization = f", {model.identity.quantization}" if model.identity.quantization else ""
        yield f"Model {model.model}{quantization}: {model.identity.words}."
    others = [server for server in origin.servers if server not in {model.identity.server for model in origin.models}]
    if others:
        yield f"Answers came from {', '.join(others)} too."


def _environment(found: Environment) -> str:
    modified = ", modified" if found.git_dirty else ""
    commit = "" if found.git_commit is None else f" (commit {found.git_commit[:12]}{modified})"
    hardware = ", ".join([found.cpu or "unknown processor", f"{found.cores} cores", *found.gpus])
    return f"ragq {found.ragq_version}{commit}, Python {found.python}, {found.platform}, {hardware}"


def chunk_size_words(tokens: int) -> str:
    """The size of chunks in words.

    >>> chunk_size_words(192), chunk_size_words(0)
    ('chunks of at most 192 tokens', 'chunks of 200 to 300 words')
    """
    return f"chunks of at most {tokens} tokens" if tokens else "chunks of 200 to 300 words"


NOT_AVAILABLE = "N/A"
NO_INTERVAL = "too few"


def number(value: float | None, digits: int = 3) -> str:
    """A number with a fixed count of digits."""
    return NOT_AVAILABLE if value is None else f"{value:.{digits}f}"


def percent(value: float | None) -> str:
    """A share in per cent.

    >>> percent(0.4879), percent(None)
    ('48.8', 'N/A')
    """
    return NOT_AVAILABLE if value is None else f"{100 * value:.1f}"


def tokens_in_words(prompt: int | None, reply: int | None) -> str:
    """Tokens of prompts and of replies.

    >>> tokens_in_words(1200, 30), tokens_in_words(None, 30)
    ('1,200 + 30', 'N/A')
    """
    return NOT_AVAILABLE if prompt is None or reply is None else f"{prompt:,} + {reply:,}"


def counted(count: int, noun: str) -> str:
    """A count with its noun.

    >>> counted(1, "job"), counted(2, "job")
    ('1 job', '2 jobs')
    """
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def counts_in_words(counts: Mapping[str, int]) -> str:
    """Counts by name, without those of nothing.

    >>> counts_in_words({"failed": 2, "unfinished": 0, "without ground truth": 1})
    '2 failed, 1 without ground truth'
    """
    return ", ".join(f"{count} {name}" for name, count in counts.items() if count)


def bounds(interval: Interval, digits: int = 3, *, scale: int = 1) -> str:
    """The ends of an interval; nothing where there is no value, and words where too few have one."""
    if interval.low is None or interval.high is None:
        return "" if interval.value is None else NO_INTERVAL
    return f"[{scale * interval.low:.{digits}f}, {scale * interval.high:.{digits}f}]"


def duration(seconds: float | None) -> str:
    """Hours, minutes and seconds: `0:01:05`."""
    return NOT_AVAILABLE if seconds is None else str(timedelta(seconds=round(seconds)))


FILTERS: Final = {"blank": "blank", "min_chars": "retrieval.min_char_count", "min_words": "retrieval.min_word_count"}
"""The names of the filters of stage `rerank`, by the names that its output has."""


def basis_in_words(basis: AnswerBasis) -> Iterator[str]:
    """One sentence for each fallback, and for each loss between the search and the prompt; none when nothing was lost.

    >>> [*basis_in_words(AnswerBasis(context_source="retrieved", shown=2, available=2, dropped_passages=2))]
    ['The sources are the retrieved chunks: all 2 passages were shorter than consolidation.min_content_length.']
    """
    if len(basis.corpora) > 1:
        yield f"Searched together: corpora {', '.join(basis.corpora)}."
    if basis.works.given:
        yield f"Only works of these conditions were searched: {basis.works}."
    if basis.full_text == SIMPLE:
        yield "Full text was read without a dictionary: words match as they are written."
    if basis.context_source is ContextSource.EMPTY:
        yield "The prompt has no sources: nothing was left of the search, which the preset allows."
    if basis.context_source is ContextSource.RETRIEVED:
        yield f"The sources are the retrieved chunks: {_why_retrieved(basis)}."
    elif basis.dropped_passages:
        yield f"{counted(basis.dropped_passages, 'passage')} shorter than consolidation.min_content_length dropped."
    if lost := sum(basis.dropped_chunks.values()):
        by = ", ".join(f"{count} {FILTERS.get(name, name)}" for name, count in basis.dropped_chunks.items())
        yield f"{lost} of {basis.found_chunks} retrieved chunks dropped as too short ({by})."
    if basis.rejected_chunks:
        yield f"{counted(basis.rejected_chunks, 'chunk')} not accepted by validation."
    if "without the weights" in (basis.ranker or ""):
        yield f"Ranked by {basis.ranker}."
    if basis.cut_texts:
        yield f"{counted(basis.cut_texts, 'text')} of the question longer than the embedder reads, and cut."
    if basis.cut_chunks:
        of_sources = counted(basis.cut_chunks, "chunk")
        yield f"{of_sources} of the sources longer than the embedder reads: their ends were not compared."
    lost_sources = [counted(basis.left_out, "further source")] if basis.left_out else []
    if basis.cut_chars:
        lost_sources.append(f"the last {basis.cut_chars} characters of source S{basis.shown}")
    if lost_sources:
        yield (
            f"The model reads and writes {basis.context_tokens} tokens together, so that {' and '.join(lost_sources)} "
            "did not fit into the prompt."
        )
    if basis.shown < basis.available:
        yield f"The prompt has {basis.shown} of {basis.available} available sources."


def _why_retrieved(basis: AnswerBasis) -> str:
    if basis.dropped_passages:
        return f"all {basis.dropped_passages} passages were shorter than consolidation.min_content_length"
    if basis.consolidated_count is None:
        return "consolidation has not run"
    return "consolidation left no passage"
