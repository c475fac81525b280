"""Every parser of what people and models write, on texts that are made to be slow: its time grows with the length."""

import gc
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from statistics import median
from typing import Final

import pytest

from adapters.cutting import measure_of
from adapters.weights import PACKAGED_EMBEDDER
from api.pages.answers import answer_html
from schemas.errors import RagqError
from schemas.values.documents import DecidedBy, Heading, TocEntry
from schemas.values.participants import Utterance
from schemas.values.queries import Origin
from stages.corpora.blocks import read_markdown
from stages.corpora.cut import ChunkSize, cut_work
from stages.corpora.works import Measure, bibliography, work_filter
from stages.documents.outline import described_by, format_of, outline
from stages.documents.pdf_layout import PdfLine, PdfPage, pdf_markdown
from stages.documents.repair import repair_by_reply
from stages.documents.select import sections_of, select_by_reply
from stages.evaluations.judge import sentences_of
from stages.models import most_tokens
from stages.participants.chunking import tag_chunk
from stages.participants.daic_woz import ITEM_LABEL_FILES, LABEL_FILES, parse_labels
from stages.participants.extract import normalise
from stages.participants.score_reply import parse_scores
from stages.participants.transcripts import clean, parse_transcript
from stages.queries.expand import read_expansion
from stages.queries.extract_answer import units_of
from stages.queries.query_files import parse_qrels, parse_queries
from stages.queries.templates import citations, placeholders
from stages.replies.asking import decision_of
from stages.replies.parsing import parse_reply, parse_strict
from stages.tags.phrases import final_phrases, parse_phrase_sets
from stages.tags.similarity import plain
from stages.tags.vocabulary_files import FILES, TAGS_FILE, parse_vocabulary
from stages.texts.characters import fenced
from stages.texts.languages import language_of
from tests.stages.participants.artifacts.builders import load

Parser = Callable[[str], object]


@cache
def measure_of_the_embedder() -> Measure:
    """The tokens of the packaged embedder, whose file takes longer to read than a text to cut."""
    measure = measure_of("huggingface", PACKAGED_EMBEDDER, embeds_headings=True)
    assert measure is not None
    return measure


def by_tokens(text: str) -> object:
    """What an import makes of a work for the packaged embedder."""
    measure = measure_of_the_embedder()
    return cut_work(read_markdown(text), title="t", size=ChunkSize.of_tokens(192), measure=measure)


def pdf_page(text: str) -> PdfPage:
    """A page with a line for every ten letters, and one for all of them."""
    parts = [*(text[start : start + 10] for start in range(0, len(text), 10)), text]
    return PdfPage(800, tuple(PdfLine(part, 10, 50, 500, 700 - 12 * at, False, False) for at, part in enumerate(parts)))


HEADER: Final = "name,category,count,aliases"

PARSERS: Final[dict[str, Parser]] = {
    "expansion": lambda text: read_expansion(f"```json\nx{text}x", origin=Origin.PASTED, n=None),
    "evidence": parse_reply,
    "verdict": decision_of,
    "strict": parse_strict,
    "scores": lambda text: parse_scores(text, severity_mode="strict"),
    "scores in tags": lambda text: parse_scores(f"<answer>{{{text}", severity_mode="strict"),
    "quotes": normalise,
    "citations": lambda text: citations(text, {"S1"}),
    "sentences of an answer": lambda text: sentences_of(text, {"S1"}),
    "answer": lambda text: answer_html(text, {"S1"}),
    "template": placeholders,
    "prompt": lambda text: fenced("reference", text),
    "transcript": lambda text: parse_transcript(text.encode(), participant_id=300, file="a"),
    "sync marks": lambda text: clean([Utterance(speaker="Participant", value=text)], participant_id=300),
    "chunk tags": tag_chunk,
    "labels": lambda text: parse_labels(LABEL_FILES[ITEM_LABEL_FILES["train"]], text.encode(), file="a"),
    "index texts": lambda text: load(TEXTS=text.encode()),
    "markdown": read_markdown,
    "work": lambda text: cut_work(read_markdown(text), title="t"),
    "work by tokens": by_tokens,
    "front matter": lambda text: bibliography(read_markdown(f"---\n{text}\n---\nx"), given={}, file_name="a.md"),
    "qrels": lambda text: parse_qrels(text.encode(), file="a"),
    "queries": lambda text: parse_queries(text.encode(), file="a"),
    "vocabulary": lambda text: parse_vocabulary({file: f"a,0,{text}".encode() for file in FILES}),
    "tags": lambda text: parse_vocabulary({TAGS_FILE: f"{HEADER}\n{text}".encode()}),
    "spelling": plain,
    "document": lambda text: format_of(f"<?xml {text}><!--{text}".encode(), "a.txt"),
    "document outline": lambda text: outline(text, [TocEntry(level=1, title=text)]),
    "document metadata": lambda text: described_by(text, text),
    "pdf": lambda text: pdf_markdown([pdf_page(text)], [TocEntry(level=1, title=text[:50], page=1)]),
    "repairs": lambda text: repair_by_reply(f"1 : H1 : {text}\n{text}", [Heading(line=1, level=1, text="t")]),
    "repairs of many lines": lambda text: repair_by_reply(
        "\n".join(f"{at} : H1 : {part}" for at, part in enumerate(text[::4], start=1)),
        [Heading(line=at, level=1, text="t") for at in range(1, len(text[::4]) + 1)],
    ),
    "selections": lambda text: select_by_reply(f"1 : SKIP : {text}\n{text}", sections_of(text), by=DecidedBy.PASTED),
    "phrases": lambda text: parse_phrase_sets(text.encode(), file="a"),
    "phrase": lambda text: final_phrases([text]),
    "condition": lambda text: work_filter([f"{text}=x", f"author={text}"]),
    "language": lambda text: language_of([text]),
    "units of an answer": lambda text: [unit.bold for unit in units_of(0, text)],
    "tokens": most_tokens,
    "title": lambda text: bibliography(read_markdown("x"), given={"title": text}, file_name="a.md"),
}


UNITS: Final = (
    *("\n", " ", "\t", "\r", "\r\n", "\u200b", "\x1f", "a", "a ", "a\n", "a\n\n", "1", "\u4e2d", "e\u0301", "..."),
    *("{", "}", "{}", "{{", "{a}", "[", "]", "[[", "[{", "{'", '{"a":', '"a":', "{'a': ", '"', "'", "\\", '\\"', ","),
    *("`", "```", "```\n", "```json", "~~~\n", "<", "<a ", "</", "<?", "<!--", "<![CDATA[", "<answer>", "</answer>"),
    *("<sync ", "[S1,", "[S1 ", "[S1]", "[S1; ", "](", "![", "![](", "[a](", '](a "', "[a]: ", "[a][", "[^", "(", ")"),
    *("*", "**a", "_a ", "#", "# ", "- ", "- - ", "* a\n", "  * a\n", "1. a\n"),
    *("> ", ">", "|", "|a", "|-", "&", "&amp;"),
    *(":", ": ", "a: b\n", "?!", "a. ", "Dr. ", "\u201ca", "a,b\n", "a\tb\n", ",\n", "<<< ", "https://a.b/"),
)

#: Characters of the short text; the long one has four times as many.
CHARS: Final = 2_000
#: A quadratic parser takes 16 times as long for the long text, a linear one four times.
MOST_GROWTH: Final = 11
#: Processor time of the long text below which growth is not looked at.
NEGLIGIBLE_S: Final = 0.04


@pytest.fixture(autouse=True)
def _without_garbage_collection() -> Iterator[None]:
    """A collection takes as long as all objects of the process are many."""
    gc.disable()
    yield
    gc.enable()


def seconds(parse: Parser, text: str, *, times: int) -> float:
    """The least processor time of a few."""
    found = []
    for _ in range(times):
        began = time.thread_time()
        with suppress(RagqError, ValueError):
            parse(text)
        found.append(time.thread_time() - began)
        if found[-1] < NEGLIGIBLE_S:
            break
    return min(found)


def growth(parse: Parser, unit: str) -> float:
    """How many times as long the long text takes: measured once, and three times when it seems too much."""
    short, long = ("x" + (unit * chars)[:chars] + "x" for chars in (CHARS, 4 * CHARS))
    found = 0.0
    for times in (1, 3):
        if (took := seconds(parse, long, times=times)) < NEGLIGIBLE_S:
            return 0
        if (found := took / seconds(parse, short, times=times)) <= MOST_GROWTH:
            break
    return found


def too_slow(parser: str) -> dict[str, float]:
    """The texts for which a parser's time grows more than their length, and how many times."""
    grown = {unit: growth(PARSERS[parser], unit) for unit in UNITS}
    return {unit: round(times, 1) for unit, times in grown.items() if times > MOST_GROWTH}


@pytest.mark.parametrize("parser", PARSERS)
def test_time_grows_with_the_length_alone(parser: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # The library repairs in a process of its own, whose time is limited and not measured here.
    monkeypatch.setattr("stages.replies.parsing._JSON_REPAIR", ("cat",))

    assert too_slow(parser) == {}


@pytest.mark.long
@pytest.mark.parametrize("parser", ["evidence", "scores", "scores in tags"])
def test_what_the_library_repaired_is_read_in_time(parser: str) -> None:
    assert too_slow(parser) == {}


@pytest.mark.parametrize(
    "lines",
    [
        lambda at: f"{'#' * (1 + at % 6)} Part {at}",
        lambda at: f"Part {at}" if at % 2 else "---",
        lambda at: f"| {at} | x |" if at else "| a | b |\n|---|---|",
        lambda at: ("", f"| a{at} | b |", "|---|---|", "| 1 | 2 |")[at % 4],
    ],
    ids=["headings", "underlined headings", "rows of a table", "tables"],
)
def test_twice_the_headings_or_rows_take_twice_the_time(lines: Callable[[int], str]) -> None:
    def convert(text: str) -> None:
        outline(text, [])
        cut_work(read_markdown(text), title="t")

    short, long = ("\n".join(map(lines, range(count))) for count in (1_000, 2_000))
    # Each of the pair in turn: another process that takes the caches slows both, and seldom one of them alone.
    pairs = [(seconds(convert, short, times=1), seconds(convert, long, times=1)) for _ in range(5)]

    # Twice the time is linear, four times is quadratic.
    assert median(of_long / of_short for of_short, of_long in pairs) < 2.5
