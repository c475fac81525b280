"""Stage `split`: which sentence of an answer cites what."""

from stages.evaluations.judge import MOST_SENTENCES, sentences_of, split_answer

LABELS = ("S1", "S2", "S3")


def cited(markdown: str) -> list[tuple[str, tuple[str, ...], tuple[str, ...]]]:
    return [(one.text, one.cited, one.unknown) for one in sentences_of(markdown, LABELS).first]


def test_each_sentence_has_the_labels_inside_it_and_its_text_has_none() -> None:
    assert cited("Tea is brown [S1]. Milk, [S2, S1] they say, is white [S9].\n\nWater is clear.") == [
        ("Tea is brown.", ("S1",), ()),
        ("Milk, they say, is white.", ("S2", "S1"), ("S9",)),
        ("Water is clear.", (), ()),
    ]


def test_a_citation_after_the_full_stop_belongs_to_the_sentence_before_it_unless_that_has_its_own() -> None:
    assert cited("Tea is brown. [S1][S2] Milk is white. [S3]") == [
        ("Tea is brown.", ("S1", "S2"), ()),
        ("Milk is white.", ("S3",), ()),
    ]
    assert cited("Tea is brown [S1]. [S2] says that milk is white.") == [
        ("Tea is brown.", ("S1",), ()),
        ("says that milk is white.", ("S2",), ()),
    ]


def test_sentences_after_the_first_hundred_are_counted_and_left_out() -> None:
    found = sentences_of(" ".join(f"Fact number {number} holds." for number in range(MOST_SENTENCES + 7)), LABELS)

    assert (len(found.first), found.left_out) == (MOST_SENTENCES, 7)


def test_the_split_has_the_passages_that_are_cited_and_the_sentences_of_the_reference() -> None:
    split = split_answer(
        "Why?",
        "It is so [S2]. It is not [S7].",
        labels=LABELS,
        passages={"S1": "one", "S2": "two", "S3": "three"},
        reference="It is so. Always.",
    )

    assert [(passage.label, passage.text) for passage in split.passages] == [("S2", "two")]
    assert split.reference == ("It is so.", "Always.")
    assert split.sentences[1].unknown == ("S7",)
