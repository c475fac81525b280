"""Properties of every vocabulary and every request."""

import asyncio
from collections.abc import Sequence
from random import Random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.values.tags import Lexicon, PhraseReport, RankedTags, Tag
from stages.tags.phrases import final_phrases, lookup_of
from stages.tags.rerank import best_first, is_nsfw, project
from tests.fakes.tags import InMemoryVocabulary, NotedSearch
from tests.stages.tags.builders import SearchedVocabulary, at, candidates_from_phrases, context_model, token_model

NAMES = ("a", "bb", "ccc", "ddd_ccc", "eee", "fff_eee", "gggg")
ALIASES = ("hhh", "iii_ccc", "ccc", "jjj", "not_a_tag")
WORDS = (*NAMES, *ALIASES, "unheard", "the", "", "ZZZ Eee", "iii  CCC")

counts = st.none() | st.integers(0, 200)
angles = st.integers(0, 359).map(at)
tags = st.fixed_dictionaries({}, optional={name: st.tuples(counts, st.none() | st.floats(0, 1)) for name in NAMES})
targets = st.lists(st.sampled_from((*NAMES, "gone", "hhh")), min_size=1, max_size=3, unique=True).map(tuple)


@st.composite
def vocabularies(draw: st.DrawFn) -> SearchedVocabulary:
    """Any vocabulary over a few words, with aliases that chain, clash with tags and name unknown ones."""
    drawn = draw(tags)
    stored = InMemoryVocabulary(
        {name: Tag(name=name, count=count, nsfw_probability=nsfw) for name, (count, nsfw) in drawn.items()},
        draw(st.dictionaries(st.sampled_from(ALIASES), targets)),
    )
    search = NotedSearch(draw(st.dictionaries(st.sampled_from((*NAMES, *ALIASES)), angles, min_size=1)))
    rows = draw(st.dictionaries(st.sampled_from(NAMES), angles))
    model = context_model(draw(st.dictionaries(st.sampled_from((*NAMES, *ALIASES)), angles)))
    tokens = token_model(draw(st.dictionaries(st.sampled_from([lookup_of(word) for word in WORDS if word]), angles)))
    return SearchedVocabulary(1, stored, search, tokens, model, rows)


requests = st.fixed_dictionaries(
    {
        "allow_nsfw_tags": st.booleans(),
        "context_tags": st.lists(st.sampled_from(WORDS), max_size=2),
        "context_tag_weight": st.floats(0, 5),
        "context_weight": st.floats(0, 1),
        "per_phrase_k": st.integers(1, 12),
        "per_phrase_final_k": st.integers(1, 4),
        "global_k": st.integers(1, 12),
        "min_tag_count": st.sampled_from((0, 1, 100)),
        "skip_exact": st.booleans(),
    }
)
phrases = st.lists(st.sampled_from(WORDS), max_size=5)


def outcome(searched: SearchedVocabulary, asked: list[str], request: dict[str, Any]) -> RankedTags:
    return asyncio.run(candidates_from_phrases(searched, asked, **request))


def stored_tags(searched: SearchedVocabulary) -> Lexicon:
    assert isinstance(searched.lexicon, InMemoryVocabulary)
    return Lexicon(tags=dict(searched.lexicon.tags), aliases=dict(searched.lexicon.aliases))


@settings(deadline=None)
@given(vocabularies(), phrases, requests, st.randoms(use_true_random=False))
def test_the_outcome_is_that_of_the_set_of_phrases(
    searched: SearchedVocabulary, asked: list[str], request: dict[str, Any], random: Random
) -> None:
    shuffled = random.sample([*asked, *asked], 2 * len(asked))

    here, there = outcome(searched, asked, request), outcome(searched, shuffled, request)

    def unordered(found: RankedTags) -> object:
        rows = [{**tag.model_dump(), "sources": sorted(tag.sources)} for tag in found.candidates]
        return rows, {report.lookup: report.candidates for report in found.phrase_reports}, found.phrase_rank_by_tag

    assert unordered(here) == unordered(there)
    assert outcome(searched, asked, request) == here


@settings(deadline=None)
@given(vocabularies(), phrases, requests)
def test_candidates_are_permitted_canonical_distinct_bounded_and_in_order_and_required_tags_are_there(
    searched: SearchedVocabulary, asked: list[str], request: dict[str, Any]
) -> None:
    lexicon, minimum = stored_tags(searched), request["min_tag_count"]

    found = outcome(searched, asked, request)
    closed = outcome(searched, asked, request | {"allow_nsfw_tags": False})
    whole = outcome(searched, asked, request | {"allow_nsfw_tags": True, "global_k": 100})

    unsafe = {tag.name for tag in lexicon.tags.values() if is_nsfw(tag)}
    of_phrases = {row.tag for report in closed.phrase_reports for row in report.candidates}
    assert not unsafe & ({tag.tag for tag in closed.candidates} | of_phrases | set(closed.phrase_rank_by_tag))
    required = [project(phrase.lookup, lexicon, min_tag_count=minimum) for phrase in final_phrases(asked)]
    assert {tag.name for tags in required for tag in tags} <= {tag.tag for tag in whole.candidates}
    for tag in found.candidates:
        scores = (tag.score_combined, tag.score_fasttext, tag.score_context)
        assert all(-1 <= score <= 1 for score in scores if score is not None)
    names = [tag.tag for tag in found.candidates]
    assert len(set(names)) == len(names) <= request["global_k"]
    assert set(names) <= lexicon.tags.keys()
    assert list(found.candidates) == sorted(found.candidates, key=best_first)
    assert found.phrase_rank_by_tag == {name: best_rank(found.phrase_reports, name) for name in names}


def best_rank(reports: Sequence[PhraseReport], name: str) -> int:
    """The first place of a tag in any report, from 1."""
    return min(
        [row.tag for row in report.candidates].index(name) + 1
        for report in reports
        if name in {row.tag for row in report.candidates}
    )
