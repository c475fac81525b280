"""The training lists of a model of tokens."""

from collections import Counter

from schemas.values.tags import Tag, TagDocument, Vocabulary
from stages.tags.similarity import training_lists

PAIR = Vocabulary(
    tags=(Tag(name="a"), Tag(name="b")), aliases={"aa": ("a",)}, documents=(TagDocument(tags=("a", "b"), weight=9),)
)


def test_a_document_is_repeated_by_the_logarithm_of_its_weight() -> None:
    lists = training_lists(PAIR, seed=1, alias_share=0, alias_lists=2)

    # 1 + floor(log2(9)) = 4; `a` twice with its alias; `b` once alone.
    assert Counter(tuple(sorted(words)) for words in lists) == {("a", "b"): 4, ("a", "aa"): 2, ("b",): 1}


def test_with_a_share_of_1_every_tag_that_has_an_alias_is_called_by_it() -> None:
    lists = training_lists(PAIR, seed=1, alias_share=1, alias_lists=0)

    assert Counter(tuple(sorted(words)) for words in lists) == {("aa", "b"): 4, ("b",): 1}


def test_about_a_tenth_of_the_tags_are_replaced() -> None:
    often = PAIR.model_copy(update={"documents": PAIR.documents * 1000})

    words = Counter(word for words in training_lists(often, seed=1, alias_lists=0) for word in words)

    assert 300 < words["aa"] < 500  # of 4000


def test_a_large_vocabulary_is_learnt_from_as_many_words_as_a_small_one() -> None:
    many = Vocabulary(
        tags=tuple(Tag(name=f"t{number}") for number in range(100)),
        aliases={f"a{number}": (f"t{number}",) for number in range(100)},
        documents=tuple(TagDocument(tags=(f"t{number}", "t0"), weight=9) for number in range(1, 100)),
    )

    words = [word for words in training_lists(many, seed=1, max_words=800) for word in words]

    assert 600 < len(words) <= 800
    assert {*(tag.name for tag in many.tags), *many.aliases} <= {*words}
