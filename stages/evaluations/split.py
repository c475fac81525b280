"""Stage `split`: the sentences of an answer, each with the sources that it cites."""

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Final, NamedTuple

from schemas.values.evaluations import AnswerSentence, CitedPassage, SplitAnswer
from stages.corpora.sentences import plain_sentences
from stages.queries.citations import ANSWER_MARKDOWN, CITATION, LABEL

MOST_SENTENCES: Final = 100
"""Of an answer, and of a reference answer. Those after them are counted and not judged."""

MOST_LABELS: Final = 8
"""Of a sentence. The sources of a sentence that cites more are judged together alone."""

_LEADING: Final = re.compile(rf"(?:\s*{CITATION.pattern})+")


class Sentences(NamedTuple):
    """The first sentences of a text, and how many follow."""

    first: tuple[AnswerSentence, ...]
    left_out: int


def split_answer(
    question: str,
    answer: str,
    *,
    labels: Collection[str],
    passages: Mapping[str, str],
    reference: str | None,
) -> SplitAnswer:
    """The sentences of an answer in markdown and of its reference, and the passages that it cites.

    `labels` are the sources of its prompt, `passages` their texts.
    """
    found = sentences_of(answer, labels)
    of_reference = None if reference is None else sentences_of(reference, ())
    cited = dict.fromkeys(label for sentence in found.first for label in sentence.cited)
    return SplitAnswer(
        question=question,
        sentences=found.first,
        left_out=found.left_out,
        passages=tuple(CitedPassage(label=label, text=passages[label]) for label in cited),
        reference=None if of_reference is None else tuple(sentence.text for sentence in of_reference.first),
        reference_left_out=0 if of_reference is None else of_reference.left_out,
    )


def sentences_of(markdown: str, labels: Collection[str]) -> Sentences:
    """The sentences of a text in markdown; headings and blocks of code are none.

    A citation between two sentences belongs to the first if that cites nothing else.

    >>> [(one.text, one.cited) for one in sentences_of("Tea is brown. [S1] Milk is white [S2].", ["S1"]).first]
    [('Tea is brown.', ('S1',)), ('Milk is white.', ())]
    """
    found = [
        AnswerSentence(
            text=text,
            cited=tuple(label for label in cited if label in labels),
            unknown=tuple(label for label in cited if label not in labels),
        )
        for block in _blocks(markdown)
        for text, cited in _sentences(block)
    ]
    return Sentences(tuple(found[:MOST_SENTENCES]), max(0, len(found) - MOST_SENTENCES))


def most_judgements(sentences: Collection[AnswerSentence], reference: int | None) -> int:
    """The most verdicts that a judge is asked for, with so many sentences of a reference answer.

    >>> most_judgements(sentences_of("So it is [S1]. And so [S1][S2].", ["S1", "S2"]).first, 3)
    11
    """
    cited = [len(sentence.cited) for sentence in sentences]
    of_citations = sum(1 + 2 * count if 1 < count <= MOST_LABELS else 1 for count in cited if count)
    return of_citations + (0 if reference is None else len(cited) + reference)


def _blocks(markdown: str) -> Iterator[str]:
    """The running text of each block. A label in code is no citation: its brackets become parentheses."""
    is_heading = False
    for token in ANSWER_MARKDOWN.parse(markdown):
        if token.type == "inline" and not is_heading:
            yield "".join(
                " "
                if part.type in ("softbreak", "hardbreak")
                else _without_labels(part.content)
                if part.type == "code_inline"
                else part.content
                for part in token.children or ()
            )
        is_heading = token.type == "heading_open"


def _without_labels(code: str) -> str:
    return CITATION.sub(lambda found: f"({found[1]})", code)


def _sentences(block: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Texts without citations, and the labels that each cites."""
    texts: list[str] = []
    cited: list[list[str]] = []
    for sentence in plain_sentences(block):
        leading = _LEADING.match(sentence)
        rest = sentence
        if leading is not None and texts and not cited[-1]:
            cited[-1] += _labels(leading[0])
            rest = sentence[leading.end() :]
        text = " ".join(CITATION.sub("", rest).split())
        text = re.sub(r" ([.,;:!?])", r"\1", text)
        if any(char.isalnum() for char in text):
            texts.append(text)
            cited.append(_labels(rest))
        elif texts:
            cited[-1] += _labels(rest)
    for text, labels in zip(texts, cited, strict=True):
        yield text, tuple(dict.fromkeys(labels))


def _labels(text: str) -> list[str]:
    return [label for found in CITATION.finditer(text) for label in LABEL.findall(found[1])]
