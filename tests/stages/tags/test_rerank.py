"""The order of tags, and the decisions where the documents leave it open."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from schemas.values.tags import Candidate, Vocabulary
from stages.tags.rerank import cut, named
from tests.stages.at_defaults import rank_tags
from tests.stages.tags.builders import (
    at,
    candidates,
    candidates_from_phrases,
    names,
    reports,
    retrieved,
    searches,
    tags_of,
    vocabulary,
)


def kept_of(scores: Sequence[float], **how: Any) -> str:
    """The letters of the tags a, b, ... with these scores that one phrase keeps."""
    alike: dict[str, Any] = {"sources": (), "context_imputed": False, "count": 1}
    ranked = [
        Candidate(tag=tag, alias_token=tag, score_fasttext=score, score_combined=score, **alike)
        for tag, score in zip("abcdef", scores, strict=False)
    ]
    return "".join(row.tag for row in cut(ranked, **how))


@pytest.mark.parametrize(
    ("required", "places", "kept"),
    [
        ((), 2, "ab"),
        (("b",), 2, "ab"),
        (("d",), 2, "ad"),  # d takes the place of b
        (("c", "d"), 2, "cd"),  # both places
        (("b", "c", "d"), 2, "bcd"),  # the list grows
        (("d",), 9, "abcd"),
        ((), 1, "a"),
    ],
)
def test_required_tags_take_the_last_places_that_are_free(required: tuple[str, ...], places: int, kept: str) -> None:
    assert kept_of((0.9, 0.8, 0.7, 0.6), required=required, per_phrase_final_k=places) == kept


@pytest.mark.parametrize(
    ("scores", "required", "kept"),
    [
        ((0.9, 0.6, 0.54, 0.53), (), "abc"),
        ((0.9, 0.8, 0.8, 0.8, 0.8, 0.8), (), "abcde"),
        ((0.9, 0.2, 0.1), ("c",), "c"),
        ((-0.1, -0.2), (), "a"),
        ((), (), ""),
    ],
)
def test_without_a_number_the_tags_near_the_best_are_kept(
    scores: tuple[float, ...], required: tuple[str, ...], kept: str
) -> None:
    assert kept_of(scores, required=required, per_phrase_final_k=None) == kept


WORD = {"word": at(0)}


async def test_ambiguity_1_the_policy_holds_for_exact_matches_and_required_tags() -> None:
    searched = vocabulary(
        {"lewd": 5, "safe": 5},
        aliases={"rude": ("lewd",)},
        nsfw={"lewd": 1.0},
        vectors={"lewd": at(0), "safe": at(1), "rude": at(0)},
        lookups=WORD,
    )

    assert await candidates(searched, "lewd", "rude", allow_nsfw_tags=False) == []
    # The phrases name a tag, so that their neighbours are not searched either: nothing replaces what is not permitted.
    assert searches(searched) == []
    assert names(await candidates(searched, "word", allow_nsfw_tags=False, per_phrase_final_k=9)) == ["safe"]
    assert await candidates(searched, "word", min_tag_count=6) == []


async def test_the_weight_ranges_from_similarity_alone_to_context_alone() -> None:
    # Similarity is cos 60 = .5 and context cos 0 = 1 for `near`; the other way round for `middle`.
    searched = vocabulary(
        {"near": 1, "middle": 1},
        vectors={"near": at(60), "middle": at(0)},
        lookups=WORD,
        rows={"near": at(0), "middle": at(60)},
        terms=WORD,
    )

    for weight, near, middle in ((0.0, 0.5, 1.0), (0.5, 0.75, 0.75), (1.0, 1.0, 0.5)):
        found = await candidates(searched, "word", per_phrase_final_k=2, context_weight=weight)
        scores = {tag.tag: round(tag.score_combined, 6) for tag in found}
        assert scores == {"near": near, "middle": middle}, weight


async def test_ambiguity_2_a_phrase_with_more_required_tags_than_places_gets_them_all() -> None:
    searched = vocabulary({"a": 1, "b": 2, "c": 3}, aliases={"abc": ("a", "b", "c")})

    assert names(await candidates(searched, "abc", per_phrase_final_k=1)) == ["c", "b", "a"]


def test_ambiguity_4_aliases_are_followed_once_and_targets_outside_the_vocabulary_drop_out() -> None:
    aliases = {"near": ("tag", "gone"), "far": ("near",), "tag": ("gone",)}
    found = Vocabulary(tags=tuple(tags_of({"tag": 1}).values()), aliases=aliases)

    for token in ("near", "tag"):
        assert [tag.name for tag in named(token, found)] == ["tag"]
    assert named("far", found) == ()


async def test_ambiguity_5_a_word_without_a_vector_has_no_neighbours_and_a_negative_similarity_is_kept() -> None:
    searched = vocabulary({"tag": 1}, vectors={"tag": at(120)}, lookups=WORD)

    assert await candidates(searched, "unheard") == []
    assert searches(searched) == []
    (found,) = await candidates(searched, "word")
    assert found.score_combined == pytest.approx(-0.5)


async def test_ambiguity_6_equal_scores_are_ordered_by_count_and_then_by_tag() -> None:
    counts = {"d": None, "c": 5, "b": 5, "a": 0, "e": 9}
    searched = vocabulary(counts, aliases={"all": tuple(counts)})

    assert names(await candidates(searched, "all")) == ["e", "b", "c", "a", "d"]


async def test_ambiguity_7_sources_are_normalised_phrases_first_seen_first() -> None:
    searched = vocabulary({"shirt": 1}, aliases={"tee": ("shirt",)})

    (found,) = await candidates(searched, "TEE", "plain_Shirt", "tee ", "Shirt")

    assert found.sources == ("tee", "shirt")


async def test_ambiguity_8_the_percentile_is_taken_before_the_cut_and_counts_exact_matches() -> None:
    searched = vocabulary(
        {"named": 1, "near": 1, "far": 1, "rowless": 1},
        vectors={"named": at(0), "near": at(10), "far": at(20), "rowless": at(30)},
        rows={"named": at(0), "near": at(60), "far": at(90)},
        terms={"named": at(0)},
    )

    (report,) = await reports(searched, "named", skip_exact=False, per_phrase_final_k=1)

    (imputed,) = [row.score_context for row in report.candidates if row.context_imputed]
    # Of 0, .5 and 1: .2 of the way from 0 to .5.
    assert imputed == pytest.approx(0.1)


async def test_ambiguity_9_heads_are_terms_weights_of_equal_terms_add_up_and_unknown_ones_count_nothing() -> None:
    searched = vocabulary(
        {"tag": 1},
        aliases={"big_shirt": ("tag",)},
        rows={"tag": at(0)},
        terms={"shirt": at(0), "hat": at(90)},
        idf={"shirt": 3.0, "hat": 4.0},
    )

    (alone,) = await candidates(searched, "big shirt")
    (with_hat,) = await candidates(searched, "big shirt", context_tags=("Hat",))
    (weighed,) = await candidates(searched, "big shirt", context_tags=("hat", "shirt"), context_tag_weight=2)

    assert alone.score_context == pytest.approx(1.0)
    assert with_hat.score_context == pytest.approx(0.6)  # (3, 4) has the length 5
    assert weighed.score_context == pytest.approx(9 / (9 * 9 + 8 * 8) ** 0.5)  # (1 + 2) * 3 and 2 * 4
    terms = [(report.lookup, report.tfidf_vocab, report.oov_terms) for report in await reports(searched, "big shirt")]
    assert terms == [("big_shirt", (), ("big_shirt",)), ("shirt", ("shirt",), ())]


def test_ambiguity_11_an_imputed_score_enters_the_merged_maximum() -> None:
    ranked = rank_tags(retrieved({"one": {"rowless": 0.2}}), context=(1.0, 0.0), rows={})

    assert ranked.candidates[0].score_context == 0.0
    assert ranked.phrase_reports[0].candidates[0].context_imputed


async def test_ambiguity_12_per_phrase_k_counts_tokens_and_not_tags() -> None:
    searched = vocabulary(
        {"near": 1, "far": 1},
        aliases={"near1": ("near",), "near2": ("near",)},
        vectors={"near": at(10), "near1": at(1), "near2": at(2), "far": at(20)},
        lookups=WORD,
    )

    (near,) = await candidates(searched, "word", per_phrase_k=3, per_phrase_final_k=9)
    assert near.tag == "near"
    assert near.score_combined == pytest.approx(np.cos(np.radians(1)))  # of its nearest token
    assert names(await candidates(searched, "word", per_phrase_k=4, per_phrase_final_k=9)) == ["near", "far"]


def test_ambiguity_13_a_rank_is_the_best_over_the_phrases_counted_from_1() -> None:
    found = retrieved({"one": {"a": 0.9, "b": 0.8, "c": 0.7}, "two": {"a": 0.2, "b": 0.3, "c": 0.9}}, required=("c",))

    ranked = rank_tags(found, context=None, rows={}, per_phrase_final_k=2)

    assert ranked.phrase_rank_by_tag == {"a": 1, "c": 1, "b": 2}
    merged = [(one.tag, one.score_combined, one.score_fasttext, one.sources) for one in ranked.candidates]
    assert merged == [("a", 0.9, 0.9, ("one",)), ("c", 0.9, 0.9, ("one", "two")), ("b", 0.3, 0.3, ("two",))]


@pytest.mark.parametrize(
    ("option", "value"),
    [
        *(("global_k", 0), ("global_k", -1), ("per_phrase_final_k", 0), ("per_phrase_k", 0)),
        *(("context_weight", weight) for weight in (-0.01, 1.01, float("nan"))),
    ],
)
async def test_ambiguity_14_and_15_lists_without_a_place_and_weights_outside_of_0_to_1_are_refused(
    option: str, value: Any
) -> None:
    with pytest.raises(ValueError, match=option):
        await candidates(vocabulary({"tag": 1}), "tag", **{option: value})


@pytest.mark.parametrize("phrases", [(), ("",), (" _ ", "\t")])
async def test_ambiguity_14_no_phrase_gives_no_candidate(phrases: tuple[str, ...]) -> None:
    searched = vocabulary({"tag": 1}, rows={"tag": at(0)}, terms={"tag": at(0)})

    found = await candidates_from_phrases(searched, phrases, allow_nsfw_tags=True, context_tags=["tag"])

    assert (found.candidates, found.phrase_reports, found.phrase_rank_by_tag) == ((), (), {})
