"""The files of a vocabulary."""

import pytest

from schemas.values.tags import Tag, Vocabulary
from stages.records import accept
from stages.tags.vocabulary_files import parse_vocabulary

HEADED = "name,category,count,aliases\nshirt,0,90,tee|T-Shirt|shirt|\nbig_hat ,7,,tee|Big_Hat\n"
HEADLESS = 'shirt,0,90,"tee,T-Shirt,shirt"\nbig_hat,7,,tee\n'


def problems(files: dict[str, str]) -> list[str]:
    found = parse_vocabulary({name: text.encode() for name, text in files.items()}).problems
    return [str(problem).split(";")[0] for problem in found]


def parsed(**files: str) -> Vocabulary:
    names = {"tags": "tags.csv", "pairs": "cooccurrence.tsv", "lists": "tag_lists.txt", "ratings": "ratings.csv"}
    return accept(parse_vocabulary({names[name]: text.encode() for name, text in files.items()}))


@pytest.mark.parametrize(
    "tags",
    [HEADED, HEADLESS, "\ufeff" + HEADED.replace("name", "tag"), HEADLESS.replace("\n", "\r\n")],
)
def test_both_layouts_give_the_same_vocabulary(tags: str) -> None:
    assert parsed(tags=tags) == Vocabulary(
        tags=(Tag(name="shirt", category="0", count=90), Tag(name="big_hat", category="7")),
        aliases={"t-shirt": ("shirt",), "tee": ("big_hat", "shirt")},
    )


def test_aliases_in_documents_count_as_their_tags_and_other_words_become_tags_without_a_count() -> None:
    vocabulary = parsed(tags=HEADED, pairs="T-shirt\tbelt\t3\nbig_hat\ttee\t1\n", lists="tee coat shirt\n\n")

    assert vocabulary.tags[2:] == (Tag(name="belt"), Tag(name="coat"))
    assert vocabulary.documents == (
        (("shirt", "belt"), 3),
        (("big_hat", "shirt"), 1),
        (("big_hat", "shirt", "coat"), 1),
    )


def test_ratings_belong_to_their_tags_and_those_of_unknown_tags_are_counted() -> None:
    rows = "Big Hat,0.95\nnobody,0.5\nnothing,1\n"
    rated, headless = (parsed(tags=HEADED, ratings=header + rows) for header in ("tag,probability\n", ""))

    assert [tag.nsfw_probability for tag in rated.tags] == [None, 0.95]
    assert rated == headless
    assert (rated.unknown_ratings, parsed(tags=HEADED).unknown_ratings) == (2, 0)


def test_names_are_matched_as_they_are_looked_up_and_shown_as_they_are_written() -> None:
    headings = parsed(
        tags='name,category,count,aliases\n"Heart, Diseases of",0,9,Heart disease|Cardiac Disease\naids,0,1,\n'
    )

    assert headings.tags == (
        Tag(name="heart,_diseases_of", category="0", count=9, title="Heart, Diseases of"),
        Tag(name="aids", category="0", count=1),
    )
    assert headings.aliases == {"cardiac_disease": ("heart,_diseases_of",), "heart_disease": ("heart,_diseases_of",)}


def test_every_problem_is_reported_at_once_with_its_line() -> None:
    assert problems(
        {
            "tags.csv": "name,category,count,aliases\n,0,1,\nBig Hat,0,1,\nhat,0,1.5,\nhat,0,-2,\nhat,0,9,a,b\n",
            "cooccurrence.tsv": "hat\tcoat\nhat\tcoat\t0\nhat\tcoat\t2\textra\n",
            "ratings.csv": "tag,probability\nhat,2\nhat,0.5\nhat,0.6\nnobody,0.1\n,0.1\n",
        }
    ) == [
        "tags.csv:6: has 5 cells under 4 columns",
        "tags.csv:2: has no name",
        "tags.csv:4: has a count that is not a whole number of 0 or more",
        "tags.csv:5: has the name of line 4, apart from capitals, spaces and _",
        "tags.csv:5: has a count that is not a whole number of 0 or more",
        "tags.csv:6: has the name of line 4, apart from capitals, spaces and _",
        "cooccurrence.tsv:3: has 4 cells under 3 columns",
        "cooccurrence.tsv:1: is not two tags and a count of 1 or more",
        "cooccurrence.tsv:2: is not two tags and a count of 1 or more",
        "ratings.csv:2: is not a tag and a probability from 0 to 1",
        "ratings.csv:4: rates the tag of line 3",
        "ratings.csv:6: is not a tag and a probability from 0 to 1",
    ]


@pytest.mark.parametrize(
    ("files", "found"),
    [
        ({}, "tags.csv: is missing"),
        ({"tags.csv": ""}, "tags.csv:1: lacks the columns name, category, count, aliases and has none"),
        ({"tags.csv": "hat,0,1,\0\n"}, "tags.csv:1: contains a NUL character, which Postgres cannot store"),
        ({"tags.csv": "hat,0,99999999999,\n"}, "tags.csv:1: has a count that is not a whole number of 0 or more"),
    ],
)
def test_a_file_of_another_kind_is_reported(files: dict[str, str], found: str) -> None:
    assert problems(files) == [found]
