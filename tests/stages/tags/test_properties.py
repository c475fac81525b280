"""Properties of every vocabulary and every request."""

import asyncio
from random import Random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.values.tags import RankedTags, Tag
from stages.tags.phrases import lookup_of
from tests.fakes.tags import InMemoryVocabulary, NotedSearch, token_model
from tests.stages.tags.builders import SearchedVocabulary, at, candidates_from_phrases, context_model

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
    return SearchedVocabulary(stored.look_up, search, tokens, model, rows)


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


@settings(deadline=None)
@given(vocabularies(), phrases, requests, st.randoms(use_true_random=False))
def test_the_outcome_keeps_its_contract_and_is_that_of_the_set_of_phrases(
    searched: SearchedVocabulary, asked: list[str], request: dict[str, Any], random: Random
) -> None:
    shuffled = random.sample([*asked, *asked], 2 * len(asked))

    here, there = outcome(searched, asked, request), outcome(searched, shuffled, request)

    def unordered(found: RankedTags) -> object:
        rows = [{**tag.model_dump(), "sources": sorted(tag.sources)} for tag in found.candidates]
        return rows, {report.lookup: report.candidates for report in found.phrase_reports}, found.phrase_rank_by_tag

    assert unordered(here) == unordered(there)
    assert outcome(searched, asked, request) == here
