"""What a user of candidate tags checks first, row by row."""

import pytest

from schemas.values.tags import Candidate, PhraseCandidate, PhraseReport
from stages.tags.phrases import final_phrases
from tests.stages.tags.builders import at, candidates, names, searches, vocabulary
from tests.stages.tags.whole_chain import candidates_from_phrases

SHIRTS = vocabulary(
    {"big_shirt": 7, "shirt": 90, "tee": 30},
    aliases={"t-shirt": ("shirt",)},
    vectors={"big_shirt": at(20), "shirt": at(0), "tee": at(60), "t-shirt": at(10)},
)


def test_c1_one_phrase_however_it_is_written_and_its_head_once() -> None:
    phrases = final_phrases(["big_shirt", "Big  Shirt", "wide shirt", "shirt", "sit in", "a tv"])

    assert [phrase.normalized for phrase in phrases] == ["big shirt", "wide shirt", "shirt", "sit in", "a tv"]
    assert [phrase.is_head for phrase in phrases] == [False] * 5
    assert [phrase.normalized for phrase in final_phrases(["big_shirt", "Big  Shirt", "wide shirt"])] == [
        "big shirt",
        "wide shirt",
        "shirt",
    ]


async def test_c2_an_exact_alias_is_its_target_at_1_without_asking_for_neighbours() -> None:
    searched = SHIRTS._replace()
    before = len(searches(searched))

    (found,) = await candidates(searched, "T-Shirt", per_phrase_final_k=3)

    assert (found.tag, found.score_fasttext, found.score_combined, found.sources) == ("shirt", 1.0, 1.0, ("t-shirt",))
    assert len(searches(searched)) == before


async def test_c2_an_exact_alias_asks_for_neighbours_when_skipping_is_off() -> None:
    found = await candidates(SHIRTS, "t-shirt", skip_exact=False, per_phrase_final_k=3)

    assert searches(SHIRTS)[-1] == ("t-shirt",)
    # t-shirt lies at 10 degrees: cos 10 to big_shirt, cos 50 to tee.
    assert [(tag.tag, round(tag.score_fasttext or 0, 6)) for tag in found] == [
        ("shirt", 1.0),
        ("big_shirt", 0.984808),
        ("tee", 0.642788),
    ]


async def test_c3_an_unknown_phrase_drops_out() -> None:
    assert await candidates(SHIRTS, "quux") == []
    assert names(await candidates(SHIRTS, "quux", "tee")) == ["tee"]


async def test_c3_a_tag_that_is_not_permitted_never_leaks_whichever_way_it_is_found() -> None:
    searched = vocabulary(
        {"safe": 5, "lewd": 5},
        aliases={"rude": ("lewd",), "mixed": ("lewd", "safe")},
        nsfw={"lewd": 0.95, "safe": 0.949},
        vectors={"safe": at(80), "lewd": at(0), "rude": at(1), "mixed": at(2)},
        lookups={"lewdd": at(0)},
    )
    phrases = ("lewd", "rude", "mixed", "lewdd", "very lewd")

    found = await candidates(searched, *phrases, allow_nsfw_tags=False, per_phrase_final_k=9, skip_exact=False)

    assert names(found) == ["safe"]
    assert set(names(await candidates(searched, *phrases, per_phrase_final_k=9))) == {"safe", "lewd"}


@pytest.mark.parametrize(
    ("context_weight", "expected"),
    [
        # Similarity is cos 60 = .5 and context cos 0 = 1 for `near`; the other way round for `middle`.
        (0.0, {"near": 0.5, "middle": 1.0}),
        (0.5, {"near": 0.75, "middle": 0.75}),
        (1.0, {"near": 1.0, "middle": 0.5}),
    ],
)
async def test_c4_the_weight_ranges_from_similarity_alone_to_context_alone(
    context_weight: float, expected: dict[str, float]
) -> None:
    searched = vocabulary(
        {"near": 1, "middle": 1},
        vectors={"near": at(60), "middle": at(0)},
        lookups={"word": at(0)},
        rows={"near": at(0), "middle": at(60)},
        terms={"word": at(0)},
    )

    found = await candidates(searched, "word", per_phrase_final_k=2, context_weight=context_weight)

    assert {tag.tag: round(tag.score_combined, 6) for tag in found} == expected


@pytest.mark.parametrize(
    ("verbose", "return_phrase_ranks", "kinds"),
    [
        (False, False, [Candidate]),
        (True, False, [list, list]),
        (False, True, [list, dict]),
        (True, True, [list, list, dict]),
    ],
)
async def test_c5_the_four_shapes(verbose: bool, return_phrase_ranks: bool, kinds: list[type]) -> None:
    found = await candidates_from_phrases(
        SHIRTS, ["tee"], allow_nsfw_tags=True, verbose=verbose, return_phrase_ranks=return_phrase_ranks
    )

    assert [type(part) for part in found] == kinds


def test_c5_the_fields_are_those_of_the_contract() -> None:
    fused = {"title", "score_similarity", "score_characters", "score_sentence", "score_spelling"}
    left_out = {"is_head", "too_rare", "not_permitted"}
    assert set(Candidate.model_fields) - fused == {
        "tag",
        "score_combined",
        "score_fasttext",
        "score_context",
        "count",
        "sources",
    }
    assert set(PhraseReport.model_fields) - left_out == {
        "phrase",
        "normalized",
        "lookup",
        "tfidf_vocab",
        "oov_terms",
        "candidates",
    }
    assert set(PhraseCandidate.model_fields) - fused == {
        "tag",
        "alias_token",
        "score_fasttext",
        "score_context",
        "score_combined",
        "context_imputed",
        "count",
    }
