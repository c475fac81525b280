"""Answers of a profile to questions whose answers are known, and the relevance floor that profile `local` has.

The questions are those of `psychology` to its 16 chapters (definitions without their term, "What is TERM?", review
questions), claims of SciFact to its abstracts, and demo_questions.jsonl to the demo's works. Each corpus is also asked
what another one answers, which it should refuse.
"""

import asyncio
import json
import random
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar

import click
import numpy as np
from sklearn.linear_model import LogisticRegression  # type: ignore[import-untyped]  # it has no types
from sklearn.metrics import roc_auc_score  # type: ignore[import-untyped]  # likewise

from adapters.sentence_transformer_encoder import SentenceTransformerEncoder
from adapters.weights import PACKAGED_EMBEDDER
from benchmarks.common import Stack, data_folder, show, show_machine, stack
from benchmarks.retrieval import public_set, works_of, write_works
from demo.data_set import write_library
from schemas.settings.profiles import PROFILES
from schemas.values.queries import RerankedChunks, Source
from stack.connections import connections
from stages.failures import FailureCategory
from stages.ports import TextVectors
from stages.queries.augment import source_texts
from stages.queries.citations import citations
from stages.queries.relevance import Evidence, evidence
from store.corpora import bm25
from store.database import Connection, Database

_FLOOR: Final = float(PROFILES["local"].values["RAGQ_RELEVANCE_FLOOR"])
_SEED: Final = 20261124
_ABSTRACTS: Final = 1100
_CLAIMS: Final = 200
_UNANSWERABLE: Final = "not answerable"
_RERANKED: Final = """
SELECT q.external_id AS id, a.output FROM current_attempt AS a
JOIN queries AS q ON q.job_id = a.job_id JOIN job AS j ON j.id = a.job_id
WHERE j.run_id = $1 AND a.stage = 'rerank' AND a.status = 'done'
"""
_ANSWERS: Final = """
SELECT q.external_id AS id, j.status, coalesce(r.response_text, '') AS answer, r.sources,
       (SELECT a.output ->> 'prompt' FROM current_attempt AS a WHERE a.job_id = j.id AND a.stage = 'augment') AS prompt,
       (SELECT a.error_category FROM stage_attempt AS a WHERE a.job_id = j.id ORDER BY a.id DESC LIMIT 1) AS category,
       extract(epoch FROM (SELECT sum(a.ended_at - a.started_at) FROM stage_attempt AS a WHERE a.job_id = j.id))
           ::float8 AS seconds
FROM job AS j JOIN queries AS q ON q.job_id = j.id LEFT JOIN results AS r ON r.query_id = q.id WHERE j.run_id = $1
"""

Found = TypeVar("Found")


class Question(NamedTuple):
    """A question, and what its answer has to hold."""

    id: str
    text: str
    corpus: str
    """The one that answers it; empty for none."""
    fact: str
    """A regular expression; empty where only reading shows whether an answer is right."""

    def set_for(self, corpus: str) -> str:
        """The set of the question where the corpus answers it."""
        return self.id.partition("-")[0] if self.corpus == corpus else _UNANSWERABLE


class Asked(NamedTuple):
    """A question that was put to a corpus, and the evidence that the corpus has for it."""

    question: Question
    corpus: str
    evidence: Evidence

    @property
    def is_answerable(self) -> bool:
        return self.question.corpus == self.corpus


@click.command(short_help="Right, supported and refused answers to questions with known answers; the relevance floor")
@click.option("--profile", default="local", show_default=True, help="The profile that answers.")
@click.option("--limit", default=60, show_default=True, help="Questions of each set, at most.")
@click.option("--read", type=click.Path(path_type=Path, dir_okay=False), help="Write questions and answers here.")
@click.option("--fit", is_flag=True, help="Fit the relevance floor instead, and print stages/queries/relevance.json.")
def answers(profile: str, limit: int, read: Path | None, fit: bool) -> None:
    """Answer questions whose answers are known, and questions that the corpus cannot answer.

    An answer has the fact where a regular expression finds it, and is supported where the sources that it cites have it
    too: both have to be read as well, which --read is for. SciFact's claims and "What is TERM?" have no expression.

    With --fit, every second question fits the probability that a corpus answers, and the others measure it; for each
    corpus, it is also fitted on the others and measured there. The weights are those of the first half.

    \b
    Example:
        python -m benchmarks answers --limit 60 --read answers.txt
        python -m benchmarks answers --fit --limit 70
    """
    with stack(RAGQ_PROFILE=profile) as running:
        asked = {corpus: _sample(corpus, of, limit) for corpus, of in _imported(running, questions()).items()}
        if fit:
            known = [one for corpus, of in asked.items() for one in _with_evidence(running, corpus, of)]
            fitted = {"questions": len(known), **fitted_floor(known)}
            click.echo(json.dumps({"embedders": {PACKAGED_EMBEDDER: fitted}}, indent=2))
            return
        show_machine("sentence-transformers")
        rows, lines = [], []
        for corpus, of in asked.items():
            found = _answered(running, corpus, of)
            for name in sorted({question.set_for(corpus) for question in of}):
                pairs = [(one, found[one.id]) for one in of if one.set_for(corpus) == name and one.id in found]
                rows.append((f"{corpus}, {name}", *_row(name, pairs)))
                lines += [f"[{corpus}, {name}] {one.text}\n{row['status']}: {row['answer']}\n" for one, row in pairs]
    show(f"profile {profile}", ("corpus, set", "asked", "failed", "refused", "with fact", "supported", "s"), rows)
    if read is not None:
        read.write_text("\n".join(lines))


def questions() -> list[Question]:
    """Every question of all sets."""
    own = Path(__file__).with_name("demo_questions.jsonl")
    found = [Question(row["_id"], row["text"], "demo" if row["fact"] else "", row["fact"] or "") for row in _lines(own)]
    folder = data_folder() / "psychology"
    for row in _lines(folder / "sections" / "queries.jsonl"):
        found.append(Question(f"review-{row['_id']}", row["text"], "psychology", _loosely(row["answer"])))
    for row in _lines(folder / "definitions" / "queries.jsonl"):
        term = re.sub(r"\s*\(.*?\)", "", row["term"])
        found.append(Question(f"definition-{row['_id']}", row["text"], "psychology", _loosely(term)))
        found.append(Question(f"term-{row['_id']}", f"What is {term}?", "psychology", ""))
    claims = public_set("scifact").read().queries
    claims_asked = random.Random(_SEED).sample(list(claims), _CLAIMS)
    return found + [Question(f"claim-{one.external_id}", one.text, "scifact", "") for one in claims_asked]


def fitted_floor(asked: Sequence[Asked]) -> dict[str, Any]:
    """The weights, and the record of the fit."""
    halves: tuple[list[Asked], list[Asked]] = ([], [])
    for one in asked:
        halves[(sum(one.question.text.encode()) + len(one.question.text)) % 2].append(one)
    regression, figures = _fit(*halves)
    corpora = sorted({one.corpus for one in asked})
    unseen = {
        corpus: _fit([one for one in asked if one.corpus != corpus], [one for one in asked if one.corpus == corpus])[1]
        for corpus in corpora
    }
    own = {corpus: [one.is_answerable for one in halves[0] if one.corpus == corpus] for corpus in corpora}
    return {
        "weights": dict(zip(Evidence._fields, (round(float(one), 4) for one in regression.coef_[0]), strict=True)),
        "intercept": round(float(regression.intercept_[0]), 4),
        "fitted": str(datetime.now(UTC).date()),
        "fitted_on": {corpus: {"answerable": sum(of), "not": len(of) - sum(of)} for corpus, of in own.items()},
        "measured_with_floor": _FLOOR,
        "measured_on_the_other_half": figures,
        "measured_on_a_corpus_that_was_left_out": unseen,
    }


def _fit(train: Sequence[Asked], test: Sequence[Asked]) -> tuple[LogisticRegression, dict[str, float]]:
    """A regression in which both kinds of question weigh the same, and how it does on questions it was not fitted on:
    the share of answerable ones that it keeps by the floor of profile `local`, and of the others that it refuses."""
    regression = LogisticRegression(C=10.0, class_weight="balanced", max_iter=1000)
    regression.fit(np.array([one.evidence for one in train]), [one.is_answerable for one in train])
    probability = regression.predict_proba(np.array([one.evidence for one in test]))[:, 1]
    answerable = np.array([one.is_answerable for one in test])
    figures = {
        "auc": roc_auc_score(answerable, probability),
        "kept": (probability[answerable] >= _FLOOR).mean(),
        "refused": (probability[~answerable] < _FLOOR).mean(),
    }
    return regression, {name: round(float(value), 3) for name, value in figures.items()}


def _imported(running: Stack, every: Sequence[Question]) -> dict[str, list[Question]]:
    """The questions that each corpus is asked, which is imported: all that it answers, and as many others."""
    write_library(running.folder / "demo")
    found = public_set("scifact")
    documents, name_of = works_of(found.documents)
    claims = {one.id.removeprefix("claim-") for one in every if one.corpus == "scifact"}
    judged = {name_of.get(one.document, one.document) for one in found.read().judgements if one.query_id in claims}
    documents.sort(key=lambda document: document.name not in judged)
    write_works(documents[:_ABSTRACTS], running.folder / "scifact")
    folders = {
        "demo": running.folder / "demo",
        "psychology": data_folder() / "psychology" / "md",
        "scifact": running.folder / "scifact",
    }
    asked = {}
    for corpus, folder in folders.items():
        running.ragq("import", "works", str(folder), "--corpus", corpus, "--wait")
        own = [one for one in every if one.corpus == corpus]
        others = [one for one in every if one.corpus != corpus]
        asked[corpus] = own + random.Random(_SEED).sample(others, min(len(others), max(len(own), 100)))
    return asked


def _sample(corpus: str, of: Sequence[Question], limit: int) -> list[Question]:
    """At most so many questions of each set, and of those that the corpus does not answer."""
    sets: dict[str, list[Question]] = {}
    for question in random.Random(_SEED).sample(of, len(of)):
        sets.setdefault(question.set_for(corpus), []).append(question)
    return [question for of_set in sets.values() for question in of_set[:limit]]


class _Embedder:
    """The installed embedder."""

    name = PACKAGED_EMBEDDER

    def __init__(self) -> None:
        self._encoder = SentenceTransformerEncoder(PACKAGED_EMBEDDER)

    async def digest(self) -> str:
        return self._encoder.digest

    async def dtype(self) -> str:
        return self._encoder.dtype

    async def embed_batch(self, texts: Sequence[str], *, timeout_s: float, truncate: bool) -> TextVectors:
        return TextVectors(self._encoder.encode(texts))


def _with_evidence(running: Stack, corpus: str, asked: Sequence[Question]) -> list[Asked]:
    run = _submitted(running, corpus, asked, "--no-expand", "--until", "rerank")
    by_id = {one.id: one for one in asked}
    embedder = _Embedder()

    async def work(connection: Connection) -> list[Asked]:
        async def terms(texts: Sequence[str]) -> list[dict[str, int]]:
            return await bm25.asked_terms(connection, texts, full_text="english")

        found = []
        for row in await connection.fetch(_RERANKED, run):
            question, chunks = by_id[row["id"]], RerankedChunks.model_validate(row["output"]).chunks
            of = await evidence(question.text, chunks, embedder=embedder, terms=terms, timeout_s=600)
            if of is not None:
                found.append(Asked(question, corpus, of))
        return found

    return _connected(running, work)


def _answered(running: Stack, corpus: str, asked: Sequence[Question]) -> dict[str, Mapping[str, Any]]:
    """Rows of _ANSWERS by the id of the question."""
    run = _submitted(running, corpus, asked)
    rows = _connected(running, lambda connection: connection.fetch(_ANSWERS, run))
    return {row["id"]: row for row in rows}


def _row(name: str, pairs: Sequence[tuple[Question, Mapping[str, Any]]]) -> list[str]:
    refused = [row["category"] == FailureCategory.NOTHING_RELEVANT for _, row in pairs]
    checked = [(one, row) for one, row in pairs if one.fact and name != _UNANSWERABLE]
    right = [(one, row) for one, row in checked if re.search(one.fact, _plain(row["answer"]))]
    supported = [one for one, row in right if re.search(one.fact, _plain(_cited(row)))]
    failed = [row["status"] == "failed" for _, row in pairs]
    shares = (f"{len(found)} of {len(checked)}" if checked else "" for found in (right, supported))
    seconds = np.median([row["seconds"] or 0.0 for _, row in pairs])
    return [str(len(pairs)), str(sum(failed) - sum(refused)), str(sum(refused)), *shares, f"{seconds:.1f}"]


def _cited(row: Mapping[str, Any]) -> str:
    """The text of the sources that an answer cites."""
    if row["prompt"] is None or not row["answer"]:
        return ""
    texts = source_texts(row["prompt"], [Source.model_validate(source) for source in row["sources"]])
    return " ".join(texts[label].text for label in citations(row["answer"], list(texts)).known)


def _submitted(running: Stack, corpus: str, asked: Sequence[Question], *options: str) -> int:
    """The number of a run of these questions, which has ended."""
    file = running.folder / f"{corpus}.jsonl"
    file.write_text("".join(json.dumps({"_id": one.id, "text": one.text}) + "\n" for one in asked))
    run: str = running.asked("submit", "--queries", str(file), "--corpus", corpus, *options)["run"]
    with suppress(click.ClickException):  # refused questions fail their jobs, which the exit code says
        running.ragq("watch", run)
    return int(run.removeprefix("r"))


def _connected(running: Stack, work: Callable[[Connection], Awaitable[Found]]) -> Found:
    async def connected() -> Found:
        database = Database(connections(running.environment).database_url, pool_size=1)
        try:
            async with database.connection() as connection:
                return await work(connection)
        finally:
            await database.close()

    return asyncio.run(connected())


def _lines(file: Path) -> Iterator[dict[str, Any]]:
    return (json.loads(line) for line in file.read_text("utf-8").splitlines())


def _loosely(text: str) -> str:
    """An expression for a text, whatever its case, its spaces and the endings of its words."""
    return "(?i)" + r"\W+".join(re.escape(word.rstrip("s")) + r"\w{0,3}" for word in re.findall(r"\w+", text))


def _plain(text: str) -> str:
    return " ".join(text.replace("*", "").split())
