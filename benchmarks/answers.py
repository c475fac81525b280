"""Answers of a profile to questions whose answers are known, and the relevance floor that profile `local` has.

The questions are those of `psychology` to its 16 chapters (definitions without their term, "What is TERM?", review
questions), claims of SciFact to its abstracts, and demo_questions.jsonl to the demo's works. Each corpus is also asked
what another one answers, which it should refuse.
"""

import asyncio
import json
import random
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, NamedTuple

import click
import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from sklearn.linear_model import LogisticRegression  # type: ignore[import-untyped]  # it has no types
from sklearn.metrics import roc_auc_score  # type: ignore[import-untyped]  # likewise

from adapters.sentence_transformer_encoder import SentenceTransformerEncoder
from benchmarks.contestants import PROJECT
from benchmarks.machine import this_machine
from benchmarks.retrieval_sets import corpus_of, data_folder, public_set, query_set_of, write_works
from benchmarks.stack import Stack, stack
from demo.library import write_library
from schemas.settings.profiles import PROFILES
from schemas.values.queries import QuerySet, RerankedChunks, Source
from stack.connections import connections
from stages.failures import FailureCategory
from stages.ports import TextVectors
from stages.queries.citations import citations
from stages.queries.relevance import Evidence, evidence
from stages.queries.sources import source_texts
from store.corpora import bm25
from store.database import Database

EMBEDDER: Final = "all-minilm-l6-v2"
FLOOR_FILE: Final = PROJECT / "stages" / "queries" / "relevance.json"
_FLOOR: Final = float(PROFILES["local"].values["RAGQ_RELEVANCE_FLOOR"])
_SEED: Final = 20261124
_ABSTRACTS: Final = 1100
_OUTPUTS: Final = """
SELECT q.external_id AS id, q.original_query AS text, a.output FROM current_attempt AS a
JOIN queries AS q ON q.job_id = a.job_id JOIN job AS j ON j.id = a.job_id
WHERE j.run_id = $1 AND a.stage = $2 AND a.status = 'done'
"""
_ANSWERS: Final = """
SELECT q.external_id AS id, j.status, r.response_text AS answer, r.sources,
       (SELECT a.output ->> 'prompt' FROM current_attempt AS a WHERE a.job_id = j.id AND a.stage = 'augment') AS prompt,
       (SELECT a.error_category FROM stage_attempt AS a WHERE a.job_id = j.id ORDER BY a.id DESC LIMIT 1) AS category,
       extract(epoch FROM (SELECT sum(a.ended_at - a.started_at) FROM stage_attempt AS a WHERE a.job_id = j.id))
           ::float8 AS seconds
FROM job AS j JOIN queries AS q ON q.job_id = j.id LEFT JOIN results AS r ON r.query_id = q.id WHERE j.run_id = $1
"""


class Question(NamedTuple):
    """A question, and what its answer has to hold."""

    id: str
    text: str
    corpus: str
    """The one that answers it; empty for none."""
    fact: str
    """A regular expression; empty where only reading shows whether an answer is right."""


def questions(data: Path) -> list[Question]:
    """Every question of all sets."""
    found = [
        Question(row["_id"], row["text"], "demo" if row["fact"] else "", row["fact"] or "")
        for row in _rows(Path(__file__).with_name("demo_questions.jsonl"))
    ]
    folder = data / "psychology"
    for row in _rows(folder / "sections" / "queries.jsonl"):
        found.append(Question(f"review-{row['_id']}", row["text"], "psychology", _loosely(row["answer"])))
    for row in _rows(folder / "definitions" / "queries.jsonl"):
        term = re.sub(r"\s*\(.*?\)", "", row["term"])
        found.append(Question(f"definition-{row['_id']}", row["text"], "psychology", _loosely(term)))
        found.append(Question(f"term-{row['_id']}", f"What is {term}?", "psychology", ""))
    claims = [Question(f"claim-{q.external_id}", q.text, "scifact", "") for q in _scifact(data).queries]
    return found + random.Random(_SEED).sample(claims, 200)


class Asked(NamedTuple):
    """A question that was put to a corpus."""

    question: Question
    corpus: str
    evidence: Evidence

    @property
    def is_answerable(self) -> bool:
        """The corpus is the one that answers it."""
        return self.question.corpus == self.corpus


class Fit(NamedTuple):
    """A regression, and how it does on questions that it was not fitted on."""

    regression: LogisticRegression
    auc: float
    kept: float
    """The share of answerable questions that it keeps by the floor of profile `local`."""
    refused: float
    """The share of the others that it refuses."""


@click.command(short_help="Fit the relevance floor, and measure it on questions that it was not fitted on")
@click.option("--limit", type=int, default=70, show_default=True, help="Questions of each set, at most.")
@click.option("--write", is_flag=True, help=f"Write {FLOOR_FILE.name}, which ragq reads.")
def floor(limit: int, write: bool) -> None:
    """Ask each corpus what it answers and what another one answers, and fit the probability that it answers.

    Every second question fits it, the others measure it; and for each corpus, it is fitted on the others and measured
    there. The weights that are written are those of the first half.

    Example:

    \b
        python -m benchmarks floor --write
    """
    with stack() as running:
        imported = _imported(running, data_folder())
        asked = asyncio.run(_asked(running, {name: _sample(name, of, limit) for name, of in imported.items()}))
    record = {"questions": len(asked), **fitted_floor(asked)}
    click.echo(json.dumps(record, indent=2))
    if write:
        FLOOR_FILE.write_text(json.dumps({"embedders": {EMBEDDER: record}}, indent=2) + "\n")


def fitted_floor(asked: Sequence[Asked]) -> dict[str, Any]:
    """The weights, and the record of the fit."""
    halves = [
        [one for one in asked if (sum(one.question.text.encode()) + len(one.question.text)) % 2 == half]
        for half in (0, 1)
    ]
    fit = _fit(halves[0], halves[1])
    corpora = sorted({one.corpus for one in asked})
    unseen = {
        corpus: _fit([one for one in asked if one.corpus != corpus], [one for one in asked if one.corpus == corpus])
        for corpus in corpora
    }
    (weights,) = fit.regression.coef_
    return {
        "weights": dict(zip(Evidence._fields, (round(float(weight), 4) for weight in weights), strict=True)),
        "intercept": round(float(fit.regression.intercept_[0]), 4),
        "fitted": str(datetime.now(UTC).date()),
        "fitted_on": {corpus: _counts(halves[0], corpus) for corpus in corpora},
        "measured_with_floor": _FLOOR,
        "measured_on_the_other_half": _figures(fit),
        "measured_on_a_corpus_that_was_left_out": {corpus: _figures(found) for corpus, found in unseen.items()},
    }


def _fit(train: Sequence[Asked], test: Sequence[Asked]) -> Fit:
    """Both kinds of question weigh the same, however many there are."""
    regression = LogisticRegression(C=10.0, class_weight="balanced", max_iter=1000)
    regression.fit(_matrix(train), [one.is_answerable for one in train])
    probability = regression.predict_proba(_matrix(test))[:, 1]
    answerable = np.array([one.is_answerable for one in test])
    return Fit(
        regression,
        float(roc_auc_score(answerable, probability)),
        float((probability[answerable] >= _FLOOR).mean()),
        float((probability[~answerable] < _FLOOR).mean()),
    )


def _matrix(asked: Sequence[Asked]) -> NDArray[np.float64]:
    return np.array([one.evidence for one in asked])


def _counts(asked: Sequence[Asked], corpus: str) -> dict[str, int]:
    own = [one.is_answerable for one in asked if one.corpus == corpus]
    return {"answerable": sum(own), "not": len(own) - sum(own)}


def _figures(fit: Fit) -> dict[str, float]:
    return {"auc": round(fit.auc, 3), "kept": round(fit.kept, 3), "refused": round(fit.refused, 3)}


def _imported(running: Stack, data: Path) -> dict[str, list[Question]]:
    """The questions that each corpus is asked, which is imported: all that it answers, and as many others."""
    library = running.folder / "demo"
    write_library(library)
    abstracts = running.folder / "scifact"
    found = public_set(data, "scifact")
    documents, name_of = corpus_of(found.documents)
    every = questions(data)
    claims = {one.id.removeprefix("claim-") for one in every if one.corpus == "scifact"}
    judged = {name_of.get(j.document, j.document) for j in _scifact(data).judgements if j.query_id in claims}
    documents.sort(key=lambda document: document.name not in judged)
    write_works(documents[:_ABSTRACTS], abstracts)
    asked = {}
    for corpus, folder in {"demo": library, "psychology": data / "psychology" / "md", "scifact": abstracts}.items():
        running.ragq("import", "works", str(folder), "--corpus", corpus, "--wait")
        own = [one for one in every if one.corpus == corpus]
        others = [one for one in every if one.corpus != corpus]
        asked[corpus] = own + random.Random(_SEED).sample(others, min(len(others), max(len(own), 100)))
    return asked


async def _asked(running: Stack, questions: dict[str, list[Question]]) -> list[Asked]:
    """The evidence that each corpus has for the questions that it is asked."""
    embedder = _CachingEmbedder()
    database = Database(connections(running.environment).database_url, pool_size=1)
    found = []

    async def terms(texts: Sequence[str]) -> list[dict[str, int]]:
        return await database.with_retry(lambda connection: bm25.asked_terms(connection, texts, full_text="english"))

    try:
        for corpus, asked in questions.items():
            run = _submitted(running, corpus, asked, "--no-expand", "--until", "rerank")
            by_id = {one.id: one for one in asked}
            async with database.connection() as connection:
                rows = await connection.fetch(_OUTPUTS, run, "rerank")
            for row in rows:
                chunks = RerankedChunks.model_validate(row["output"]).chunks
                of = await evidence(row["text"], chunks, embedder=embedder, terms=terms, timeout_s=600)
                if of is not None:
                    found.append(Asked(by_id[row["id"]], corpus, of))
    finally:
        await database.close()
    return found


class _CachingEmbedder:
    """The installed embedder, which computes each text once."""

    name = EMBEDDER

    def __init__(self) -> None:
        self._encoder = SentenceTransformerEncoder(EMBEDDER)
        self._known: dict[str, NDArray[np.float32]] = {}

    async def digest(self) -> str:
        return self._encoder.digest

    async def dtype(self) -> str:
        return self._encoder.dtype

    async def embed_batch(self, texts: Sequence[str], *, timeout_s: float, truncate: bool) -> TextVectors:
        missing = [text for text in dict.fromkeys(texts) if text not in self._known]
        if missing:
            self._known |= zip(missing, self._encoder.encode(missing), strict=True)
        return TextVectors(np.stack([self._known[text] for text in texts]))


@click.command(short_help="Share of right, supported and refused answers of a profile to questions with known answers")
@click.option("--profile", default="local", show_default=True, help="The profile that answers.")
@click.option("--limit", type=int, default=60, show_default=True, help="Questions of each set, at most.")
@click.option(
    "--read", type=click.Path(path_type=Path, dir_okay=False), help="Write questions and answers to this file."
)
def answers(profile: str, limit: int, read: Path | None) -> None:
    """Answer questions whose answers are known, and questions that the corpus cannot answer.

    An answer has the fact where a regular expression finds it, and is supported where the sources that it cites have it
    too: both have to be read as well, which --read is for. SciFact's claims and "What is TERM?" have no expression.

    Example:

    \b
        python -m benchmarks answers --limit 60 --read answers.txt
        python -m benchmarks answers --profile demo --limit 15
    """
    with stack(RAGQ_PROFILE=profile) as running:
        asked = _imported(running, data_folder())
        measured = {corpus: asyncio.run(_answered(running, corpus, of, limit)) for corpus, of in asked.items()}
    console = Console(width=130)
    console.print(this_machine(("ragq", "sentence-transformers")).sentence(), highlight=False)
    table = Table(title=f"profile {profile}", title_justify="left")
    for heading in ("corpus, set", "asked", "failed", "refused", "with the fact", "supported", "seconds"):
        table.add_column(heading, justify="left" if heading == "corpus, set" else "right")
    lines = []
    for corpus, of in measured.items():
        for name in sorted({one.set for one in of}):
            found = [one for one in of if one.set == name]
            table.add_row(f"{corpus}, {name}", *_row(found))
            lines += [f"[{corpus}, {name}] {one.question.text}\n{one.outcome}: {one.answer}\n" for one in found]
    console.print(table)
    if read is not None:
        read.write_text("\n".join(lines))


class Answered(NamedTuple):
    """A question and what came of it."""

    question: Question
    corpus: str
    outcome: str
    """The state of its job."""
    is_refused: bool
    answer: str
    cited: str
    """The text of the sources that it cites."""
    seconds: float

    @property
    def set(self) -> str:
        """The set of the question, or that the corpus does not answer it."""
        return self.question.id.partition("-")[0] if self.question.corpus == self.corpus else "not answerable"


def _row(found: Sequence[Answered]) -> list[str]:
    checked = [one for one in found if one.question.fact and one.set != "not answerable"]
    right = [one for one in checked if re.search(one.question.fact, _plain(one.answer))]
    supported = [one for one in right if re.search(one.question.fact, _plain(one.cited))]
    return [
        str(len(found)),
        str(sum(one.outcome == "failed" and not one.is_refused for one in found)),
        str(sum(one.is_refused for one in found)),
        f"{len(right)} of {len(checked)}" if checked else "",
        f"{len(supported)} of {len(checked)}" if checked else "",
        f"{np.median([one.seconds for one in found]):.1f}",
    ]


async def _answered(running: Stack, corpus: str, questions: list[Question], limit: int) -> list[Answered]:
    chosen = {one.id: one for one in _sample(corpus, questions, limit)}
    run = _submitted(running, corpus, list(chosen.values()))
    database = Database(connections(running.environment).database_url, pool_size=1)
    try:
        async with database.connection() as connection:
            rows = await connection.fetch(_ANSWERS, run)
    finally:
        await database.close()
    return [
        Answered(
            chosen[row["id"]],
            corpus,
            row["status"],
            row["category"] == FailureCategory.NOTHING_RELEVANT,
            row["answer"] or "",
            _cited(row["prompt"], row["sources"], row["answer"]),
            row["seconds"] or 0.0,
        )
        for row in rows
    ]


def _sample(corpus: str, questions: Sequence[Question], limit: int) -> list[Question]:
    """At most so many questions of each set, and of those that the corpus does not answer."""
    sets: dict[str, list[Question]] = {}
    for question in random.Random(_SEED).sample(questions, len(questions)):
        of = sets.setdefault(question.id.partition("-")[0] if question.corpus == corpus else "", [])
        if len(of) < limit:
            of.append(question)
    return [one for of in sets.values() for one in of]


def _cited(prompt: str | None, sources: Any, answer: str | None) -> str:
    if prompt is None or answer is None:
        return ""
    known = [Source.model_validate(source) for source in sources]
    texts = source_texts(prompt, known)
    return " ".join(texts[label].text for label in citations(answer, list(texts)).known)


def _submitted(running: Stack, corpus: str, questions: Sequence[Question], *options: str) -> int:
    """The number of a run of these questions, which has ended."""
    file = running.folder / f"{corpus}.jsonl"
    file.write_text("".join(json.dumps({"_id": one.id, "text": one.text}) + "\n" for one in questions))
    run: str = running.asked("submit", "--queries", str(file), "--corpus", corpus, *options)["run"]
    with suppress(click.ClickException):  # refused questions fail their jobs, which the exit code says
        running.ragq("watch", run)
    return int(run.removeprefix("r"))


def _scifact(data: Path) -> QuerySet:
    return query_set_of(public_set(data, "scifact"))


def _rows(file: Path) -> Iterator[dict[str, Any]]:
    return (json.loads(line) for line in file.read_text("utf-8").splitlines())


def _loosely(text: str) -> str:
    """An expression for a text, whatever its case, its spaces and the endings of its words."""
    return "(?i)" + r"\W+".join(re.escape(word.rstrip("s")) + r"\w{0,3}" for word in re.findall(r"\w+", text))


def _plain(text: str) -> str:
    return " ".join(text.replace("*", "").split())
