"""What profile `local` is tuned by: errors on the training split of the demo data, each participant left out."""

import asyncio
import csv
from collections.abc import Sequence
from io import StringIO
from itertools import product
from statistics import fmean
from typing import Final, NamedTuple

import click
import numpy as np

from adapters.sentence_transformer_encoder import SentenceTransformerEncoder
from adapters.weights import PACKAGED_EMBEDDER
from demo.data_set import data_set_files
from schemas.values.phq8 import PHQ8Item
from stages.evaluations.scorers import Evidence, nearest
from stages.participants.chunking import chunk_transcript, tag_chunk
from stages.participants.embed import embed_evidence
from stages.participants.extract_by_similarity import extract_by_similarity
from stages.participants.retrieve import similarities
from stages.participants.score_by_neighbours import mean_score, median_score
from stages.participants.transcripts import parse_transcript
from stages.ports import TextVectors, Vectors
from stages.vectors import unit_rows

THRESHOLDS: Final = (0.60, 0.64, 0.68, 0.72)
QUOTES: Final = (1, 2, 3, 4)
NEIGHBOURS: Final = 5
REFERENCES: Final = 2
"""References of an item, as EMBEDDING_TOP_K_REFERENCES has them."""
SIMILARITIES: Final = (0.0, 0.65, 0.68, 0.70, 0.72, 0.74)


class Remembering:
    """An embedder that computes each text once."""

    name = PACKAGED_EMBEDDER

    def __init__(self) -> None:
        self._encoder = SentenceTransformerEncoder(PACKAGED_EMBEDDER)
        self._known: dict[str, Vectors] = {}

    async def digest(self) -> str:
        return self._encoder.digest

    async def dtype(self) -> str:
        return self._encoder.dtype

    async def embed_batch(self, texts: Sequence[str], *, timeout_s: float, truncate: bool) -> TextVectors:
        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        self._known |= dict(zip(new, self._encoder.encode(new), strict=True))
        return TextVectors(np.stack([self._known[text] for text in texts]), ())


class Person(NamedTuple):
    """A training participant."""

    number: int
    transcript: str
    scores: dict[PHQ8Item, int]


@click.command()
def scorers() -> None:
    """Errors of neighbours by threshold and quotes, and of references by similarity, on the demo data's paper-train.

    Each participant is scored by the others. Takes about three minutes of processor time.
    """
    people, embedder = training_people(), Remembering()
    click.echo("threshold  quotes  MAE of neighbours  items with evidence")
    for threshold, quotes in product(THRESHOLDS, QUOTES):
        known = asyncio.run(evidence_of(people, embedder, threshold, quotes))
        found = fmean(len(one.vectors) / len(PHQ8Item) for one in known)
        click.echo(f"{threshold:9.2f}  {quotes:6}  {error_of_others(known):17.3f}  {found:19.3f}")
    known = asyncio.run(evidence_of(people, embedder, THRESHOLDS[0], QUOTES[-1]))
    click.echo("\nsimilarity  references that mention the item  difference of their scores to the participant's")
    differences = reference_differences(people, known, embedder)
    for least in SIMILARITIES:
        accepted = [difference for similarity, difference in differences if similarity >= least]
        click.echo(f"{least:10.2f}  {len(accepted):33}  {fmean(accepted) if accepted else float('nan'):47.3f}")


def training_people() -> list[Person]:
    """The participants of paper-train, as `ragq demo-data` writes them."""
    files = data_set_files()
    rows = {
        int(row["Participant_ID"]): row
        for name, data in files.items()
        if name.endswith("AVEC2017.csv")
        for row in csv.DictReader(StringIO(data.decode()))
    }
    split = csv.DictReader(StringIO(files["paper_splits/paper_split_train.csv"].decode()))
    people = []
    for number in (int(row["Participant_ID"]) for row in split):
        file = f"transcripts/{number}_P/{number}_TRANSCRIPT.csv"
        text = parse_transcript(files[file], file=file, participant_id=number).value.text
        people.append(Person(number, text, {item: int(rows[number][item.evidence_key]) for item in PHQ8Item}))
    return people


async def evidence_of(people: Sequence[Person], embedder: Remembering, threshold: float, quotes: int) -> list[Evidence]:
    """The evidence of each, found and embedded as in a run."""
    found = []
    for one in people:
        extracted = await extract_by_similarity(
            one.transcript, embedder=embedder, timeout_s=60, threshold=threshold, max_quotes=quotes, truncate=True
        )
        embedded = await embed_evidence(
            extracted, embedder=embedder, dimension=384, timeout_s=60, min_evidence_chars=8, batch=True, truncate=True
        )
        vectors = dict(zip(embedded.evidence.items, embedded.vectors, strict=True))
        found.append(Evidence(one.number, one.scores, vectors))
    return found


def error_of_others(known: Sequence[Evidence]) -> float:
    """The MAE of the scores that each has by the others."""
    errors = []
    for at, one in enumerate(known):
        others = [*known[:at], *known[at + 1 :]]
        for item in PHQ8Item:
            score = median_score([other.scores[item] for other in others])
            with_evidence = [other for other in others if item in other.vectors]
            if item in one.vectors and with_evidence:
                score = mean_score(nearest(one, with_evidence, item)[:NEIGHBOURS])[1]
            assert score is not None
            errors.append(abs(score - one.scores[item]))
    return fmean(errors)


def reference_differences(
    people: Sequence[Person], known: Sequence[Evidence], embedder: Remembering
) -> list[tuple[float, int]]:
    """Of the nearest chunks of others, those that mention the item: similarity, and difference of the scores."""
    texts = [(one, text) for one in people for text in chunk_transcript(one.transcript, size=8, step=8, min_chars=8)]
    found = asyncio.run(embedder.embed_batch([text for _, text in texts], timeout_s=60, truncate=True))
    rows = unit_rows(found.vectors, rows=len(texts))
    differences = []
    for one in known:
        for item, vector in one.vectors.items():
            near = similarities(rows, vector)
            others = [at for at in np.argsort(-near, kind="stable") if texts[at][0].number != one.participant_id]
            for at in others[:REFERENCES]:
                if item.evidence_key in tag_chunk(texts[at][1]):
                    differences.append((float(near[at]), abs(texts[at][0].scores[item] - one.scores[item])))
    return differences
