"""Stage `generate` without a language model: the best sentences of the sources, quoted to the letter."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from math import log
from typing import Final, NamedTuple

import numpy as np

from schemas.errors import NothingRelevantError
from schemas.full_text import ENGLISH
from schemas.values.queries import Answer, AugmentedPrompt, Origin, RerankedChunk
from stages.corpora.blocks import Block, BlockKind, read_markdown
from stages.corpora.cut import captions, plain_sentences
from stages.ports import Embedder, Terms, Vectors
from stages.queries.augment import source_texts
from stages.queries.rerank import Scores, select_diverse, z_scores
from stages.queries.templates import CITATION, citations, stored_answer
from stages.vectors import unit_vectors

EXTRACTIVE: Final = "extractive"
"""What such an answer has in the place of its model."""
MOST_UNITS: Final = 400
"""Units of which vectors are computed."""
_LONGEST: Final = 1200
"""Characters of a unit; a longer one is cut at a space."""
_QUOTED: Final = 3
_RELEVANCE: Final = 0.75
"""Against diversity, in MMR."""
_PASSAGE_WEIGHT: Final = 0.5
_TERM_WEIGHT: Final = 2.0
_SHARE: Final = 0.7
"""What a further unit has of the best one's cosine to the question, and of its BM25."""
_NEAR: Final = 2
"""Places from the best unit within which a further one need not."""
_SAME: Final = 0.9
"""Cosine from which a unit says the same as another."""
_K1: Final = 0.9
_B: Final = 0.4

_ITEM = re.compile(r"\s{0,3}(?:[-*+]|\d{1,9}[.)])\s")
_CODE = re.compile(r"\s{0,3}(?:```|~~~)| {4}")
_LEANING = re.compile(
    r"\W{0,3}(?:This|That|These|Those|It|Its|They|Their|He|She|His|Her|Such|Here|Therefore|Thus|Hence|So|But|However|"
    r"And|Or|Then|Instead|Both|Neither|Also|Moreover|One|Another|(?:For|In) (?:example|instance|contrast|addition)|"
    r"(?:\w+ ){1,2}(?:this|these))\b"
)
_ASKS = re.compile(r"[?？]\W{0,4}$")
_SETS_TASKS = re.compile(r"\byou (?:will|should) be able to\W{0,4}$", re.IGNORECASE)
_BOLD = re.compile(r"\*\*([^*]+)\*\*")


class Unit(NamedTuple):
    """A part of a source that is quoted whole: a sentence, an item of a list, a row of a table, or a block of code."""

    source: int
    """The place of its source, from 0."""
    place: int
    """Its place among the units of its source, from 0."""
    text: str
    """As it is quoted, in markdown."""
    searched: str
    """What it is found by: the heading above it, and its words."""
    is_sentence: bool
    leans: bool
    """It begins with a word that points to the unit before it."""
    asks: bool = False
    """It is a question or a task for the reader, which answers nothing."""

    @property
    def bold(self) -> str:
        """What is in bold: as a rule the term that it introduces."""
        return " ".join(_BOLD.findall(self.text))


async def extracted_answer(
    question: str,
    augmented: AugmentedPrompt,
    chunks: Sequence[RerankedChunk],
    *,
    embedder: Embedder,
    terms: Terms,
    timeout_s: float,
    language: str = ENGLISH,
) -> Answer:
    """The best one to three sentences of the sources in the prompt, quoted to the letter, with their labels. `chunks`
    are those of the sources. Raises NothingRelevantError without any sentence, and what `unit_vectors` raises."""
    texts = source_texts(augmented.prompt, augmented.sources)
    scores = {chunk.chunk_id: chunk.final_score for chunk in chunks}
    passage_scores = [max((scores.get(one, 0.0) for one in of.chunk_ids), default=0.0) for of in augmented.sources]
    units = [
        unit
        for place, source in enumerate(augmented.sources)
        if source.label in texts
        for unit in units_of(
            place, texts[source.label].text, heading=(source.heading_chain or (source.title,))[-1], language=language
        )
    ]
    if not units:
        raise NothingRelevantError("The sources have no sentence to answer with", "consolidation.min_content_length=0")
    asked, *of_units = await terms([question, *(unit.searched for unit in units)])
    units, of_units = most_lexical(units, of_units, asked)
    bold = await terms([unit.bold for unit in units])
    searched = [question, *(unit.searched for unit in units)]
    rows = (await unit_vectors(searched, embedder=embedder, timeout_s=timeout_s)).vectors
    cosines, lexical = rows[1:].astype(np.float64) @ rows[0], lexical_scores(of_units, asked)
    passages = np.array([passage_scores[unit.source] for unit in units])
    ranked = z_scores(cosines) + z_scores(lexical) + _PASSAGE_WEIGHT * z_scores(passages)
    ranked += _TERM_WEIGHT * introductions(bold, asked)
    chosen = chosen_units(units, ranked, rows[1:], cosines=cosines, lexical=lexical)
    text = quoted(chosen, [source.label for source in augmented.sources])
    return stored_answer(text, augmented, origin=Origin.EXTRACTIVE, model=EXTRACTIVE)


def units_of(source: int, text: str, *, heading: str = "", language: str = ENGLISH) -> list[Unit]:
    """The units of the text of a source, in order. `heading` is the one above the text. Figures and their captions give
    none, and neither does what would cite something in the answer, or take its own label into code."""
    document = read_markdown(text)
    captioned = captions(document.blocks).items()
    of_figures = [caption for place, caption in captioned if document.blocks[place].kind is BlockKind.FIGURE]
    found: list[Unit] = []
    sets_tasks = False
    for block in document.blocks:
        if block in of_figures:
            continue
        if block.kind is BlockKind.HEADING:
            heading, sets_tasks = block.text, False
            continue
        for quoted, words, is_sentence, leans in _units(block, document.lines, language):
            if is_sentence:
                sets_tasks = _SETS_TASKS.search(quoted) is not None
            searched = f"{heading}: {words}" if heading else words
            asks = sets_tasks or _ASKS.search(quoted) is not None
            unit = Unit(source, len(found), quoted, searched, is_sentence, leans, asks)
            if re.search(r"\w", quoted) and _cites_its_source_alone(unit):
                found.append(unit)
    return found


def most_lexical(
    units: Sequence[Unit], terms: Sequence[dict[str, int]], asked: Collection[str]
) -> tuple[list[Unit], list[dict[str, int]]]:
    """The units of which vectors are computed, with their terms: all, or the first MOST_UNITS by BM25."""
    order = np.argsort(-lexical_scores(terms, asked), kind="stable")[:MOST_UNITS]
    return [units[at] for at in sorted(order)], [terms[at] for at in sorted(order)]


def introductions(bold: Sequence[Collection[str]], asked: Collection[str]) -> Scores:
    """How far the terms that a unit has in bold are those of the question: the Jaccard index, from 0 to 1."""
    known = set(asked)
    return np.array([len(known & set(of)) / len(known | set(of)) if of else 0.0 for of in bold])


def lexical_scores(terms: Sequence[Mapping[str, int]], asked: Collection[str]) -> Scores:
    """BM25 of each text to the asked terms, with Lucene's idf over these texts alone."""
    lengths = np.array([sum(of.values()) for of in terms], dtype=np.float64)
    saturation = _K1 * (1 - _B + _B * lengths / max(lengths.mean(), 1))
    found = np.zeros(len(terms))
    for term in asked:
        times = np.array([of.get(term, 0) for of in terms], dtype=np.float64)
        texts = int((times > 0).sum())
        found += log(1 + (len(terms) - texts + 0.5) / (texts + 0.5)) * times / (times + saturation)
    return found


def chosen_units(
    units: Sequence[Unit], scores: Scores, vectors: Vectors, *, cosines: Scores, lexical: Scores
) -> list[Unit]:
    """One to three units that say different things, with those that they point to, in the order of the sources. One
    that asks is chosen where there is no other. The second and the third score above the average, and stand beside the
    best one or are nearly as close to the question, both by meaning and by words. `vectors` have length 1."""
    ranked = np.argsort(-scores, kind="stable")
    order = [at for at in ranked if not units[at].asks] or list(ranked)
    alike = vectors[order].astype(np.float64) @ vectors[order].T
    best, *others = select_diverse(
        [float(scores[at]) for at in order], (alike + 1) / 2, count=_QUOTED, mmr_lambda=_RELEVANCE
    )
    kept = [best]
    first = order[best]
    for one in others:
        at = order[one]
        is_beside = units[at].source == units[first].source and abs(units[at].place - units[first].place) <= _NEAR
        is_near = cosines[at] >= _SHARE * cosines[first] and lexical[at] >= _SHARE * lexical[first]
        if scores[at] > 0 and (is_beside or is_near) and alike[one, kept].max() < _SAME:
            kept.append(one)
    places = {int(order[one]) for one in kept}
    for place in list(places):
        unit, before = units[place], units[place - 1] if place else None
        if unit.leans and before is not None and before[:2] == (unit.source, unit.place - 1):
            places.add(place - 1)
    return [units[place] for place in sorted(places)]


def quoted(units: Sequence[Unit], labels: Sequence[str]) -> str:
    """The answer: each unit with the label of its source."""
    text = ""
    before: Unit | None = None
    for unit in units:
        follows = before is not None and unit.is_sentence and before.is_sentence and unit.source == before.source
        text += " " if follows else "\n\n" if text else ""
        text += _with_label(unit, labels[unit.source])
        before = unit
    return text


def _with_label(unit: Unit, label: str) -> str:
    return f"{unit.text}\n\n[{label}]" if "\n" in unit.text else f"{unit.text} [{label}]"


def _cites_its_source_alone(unit: Unit) -> bool:
    if CITATION.search(unit.text):
        return False
    return citations(_with_label(unit, "S1"), {"S1"}) == (("S1",), ())


def _units(block: Block, lines: Sequence[str], language: str) -> Iterator[tuple[str, str, bool, bool]]:
    """Of each unit: its text, its words, whether it is a sentence, and whether it points to the one before it."""
    first = lines[block.start_line - 1]
    if block.kind is BlockKind.TABLE:
        header, rule, *rows = block.text.splitlines()
        names, *cells = block.rows
        for row, of_row in zip(rows, cells, strict=False):
            words = "; ".join(f"{name}: {cell}" for name, cell in zip(names, of_row, strict=False) if cell)
            yield "\n".join((header, rule, row)), words, False, False
    elif block.kind is BlockKind.TEXT and _CODE.match(first):
        yield block.text, block.text, False, True
    elif block.kind is BlockKind.TEXT:
        text = " ".join(block.text.split())
        is_item = _ITEM.match(first) is not None
        for sentence in [text] if is_item else plain_sentences(text, language=language):
            for piece in _pieces(sentence.strip()):
                yield f"- {piece}" if is_item else piece, piece, not is_item, bool(_LEANING.match(piece))


def _pieces(text: str) -> Iterator[str]:
    while len(text) > _LONGEST:
        end = text.rfind(" ", 1, _LONGEST) + 1 or _LONGEST
        yield text[:end].strip()
        text = text[end:]
    yield text
