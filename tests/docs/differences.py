"""Where ragq differs from the systems that it was built after: one list, and docs/differences.md, which it is.

.venv/bin/python -m tests.docs.differences
"""

from pathlib import Path
from typing import Final, NamedTuple

from schemas.settings.preset import DEFAULT_ALIAS, ORIGINAL, Preset

PAGE: Final = Path(__file__).parents[2] / "docs" / "differences.md"
_ORIGINAL = "`" + "`, `".join(f"{name}={ORIGINAL[name]}" for name in ("retrieval.top_n_final", "reranking.model")) + "`"
_BALANCED = Preset().retrieval.top_n_final


class Difference(NamedTuple):
    """One point: what the documents say, what the published code does, what ragq does, and the test that holds it."""

    what: str
    documents: str
    code: str
    ragq: str
    test: str
    """`folder/test_file.py::test_name`, below `tests`."""


SECTIONS: Final = {
    "Queries": (
        Difference(
            "chunks in the final selection",
            "15",
            "17",
            f"preset `Original` has {ORIGINAL['retrieval.top_n_final']}, `Balanced` {_BALANCED}",
            "schemas/settings/test_preset.py::test_the_values_of_the_original_are_those_of_the_seed",
        ),
        Difference(
            "the default preset",
            "the one that is called `default`",
            "the one that is marked",
            f"the one that is marked; `{DEFAULT_ALIAS}` stands for it everywhere, and no preset can have that name",
            "store/questions/test_presets.py::test_default_stands_for_the_default_preset_and_is_no_name",
        ),
        Difference(
            "a database without a default preset",
            "not mentioned",
            "an error",
            "an error that names the remedy; no built-in values take its place",
            "store/questions/test_presets.py::test_no_default_is_an_error_and_never_a_built_in",
        ),
        Difference(
            "the columns of `queries`",
            "all of a question's outputs",
            "the same",
            "outputs are in the rows of stages; the view `query_state` has the documented columns, for SQL",
            "store/views/test_query_state.py::test_it_has_the_columns_of_the_seeds_table_with_the_values_of_the_api",
        ),
        Difference(
            "`vector_status` after an expansion",
            "`no_vec`",
            "`to_vec`",
            "`to_vec`; `no_vec` before it",
            "store/questions/test_queries.py::test_the_status_of_its_vectors_is_shown_too",
        ),
        Difference(
            "`updated_at` of a question",
            "any change of the row",
            "the same",
            "over HTTP, a new text or a move to another run; in `query_state`, also every stored output",
            "store/views/test_query_state.py::test_it_has_the_columns_of_the_seeds_table_with_the_values_of_the_api",
        ),
        Difference(
            "texts of templates",
            "in `prompt_meta`",
            "in `prompt_templates`; `prompt_meta` describes their variables",
            "as the code",
            "store/questions/test_templates.py::test_a_new_database_has_version_1_of_every_template_active",
        ),
        Difference(
            "variables of the answer's template",
            "`query`, `contexts`, `intent`, `entities`",
            "`user_question`, `context_blocks`, `intent`, `entities_str`",
            "both",
            "stages/queries/test_augment.py::test_b5_both_sets_of_variables_are_given",
        ),
        Difference(
            "no active template",
            "not mentioned",
            "the built-in text, in silence",
            "an error",
            "store/questions/test_templates.py::test_no_active_template_is_an_error_and_never_a_built_in",
        ),
        Difference(
            "the wording of the prompts",
            "not printed",
            "its own",
            "ragq's own, with sources as data in a fence",
            "stages/queries/test_augment.py::test_no_source_leaves_its_fence_or_passes_for_another",
        ),
        Difference(
            "another number of search phrases than asked for",
            "not mentioned",
            "taken",
            "a model's reply is an error; a pasted one is taken",
            "stages/queries/test_expand.py::test_another_number_of_queries_than_asked_for_is_an_error",
        ),
        Difference(
            "text around an unfenced reply, an open fence",
            "not mentioned",
            "an error, or a lost character",
            "read",
            "stages/queries/test_expand.py::test_b1_fenced_and_unfenced_replies_are_read",
        ),
        Difference(
            "fusion of the searches by vector",
            "L2 distance, maximum over the lists",
            "cosine, every list in the fusion",
            "as the code",
            "stages/queries/test_fusion.py::test_b2_all_lists_weigh_the_same_and_k_is_a_setting",
        ),
        Difference(
            "full-text search",
            "`ts_rank` of the text",
            "`ts_rank_cd`, all terms of a search-box text",
            "`Original` as the code; `Balanced` BM25 over any term",
            "contracts/test_chunk_search.py::test_only_websearch_asks_for_every_term",
        ),
        Difference(
            "cross-encoder",
            "`bge-reranker-base`",
            "`bge-reranker-large`, loaded for every request",
            f"`Original` as the documents ({_ORIGINAL}), loaded once; without weights the answer states what ranked",
            "stages/queries/rankers/test_without_weights.py"
            "::test_without_its_weights_the_scores_of_both_searches_rank_and_the_name_states_it",
        ),
        Difference(
            "bonus for the level of a heading",
            "by intent",
            "never given: content has other levels than those it names",
            "content under a heading counts as that heading",
            "stages/queries/test_intent_bias.py::test_b3_content_under_a_heading_counts_as_its_level",
        ),
        Difference(
            "selection for diversity",
            "not mentioned",
            "MMR",
            "MMR",
            "stages/queries/test_mmr.py::test_b3_in_between_relevance_and_variety_are_weighed",
        ),
        Difference(
            "a search that leaves no chunk",
            "an empty context",
            "an empty context",
            "the job fails and names the values that would leave some, unless the preset allows it",
            "stages/queries/test_validate.py::test_nothing_found_is_an_error_whether_validation_is_on_or_off",
        ),
        Difference(
            "groups of low coverage",
            "are removed",
            "are not replaced by their parent; none is removed",
            "as the code",
            "stages/queries/test_consolidate.py::test_b4_chunks_that_cover_less_than_half_are_not_replaced",
        ),
        Difference(
            "parents of chunks",
            "headings without a parent",
            "every heading above",
            "as the code",
            "stages/queries/test_consolidate.py::test_b4_parents_fold_upward",
        ),
        Difference(
            "lines around a chunk, and of a group",
            "from the file",
            "by numbers of the sanitized file, from another one",
            "from the stored text that chunks were cut from; another text fails the job",
            "stages/queries/test_consolidate.py::test_b4_a_changed_work_is_an_error",
        ),
        Difference(
            "a source in the prompt",
            "`## [Title] > Heading`",
            "`[S1] Source: title > headings \\| (work, lines)`",
            "as the code, its text in a fence",
            "stages/queries/test_augment.py::test_b5_blocks_carry_label_title_headings_and_lines_each_in_its_fence",
        ),
        Difference(
            "sources longer than the model reads",
            "not mentioned",
            "sent whole",
            "taken by rank as far as they fit; the answer states what was left out",
            "stages/queries/test_augment.py::test_a_prompt_leaves_room_for_its_answer_and_ends_with_a_sentence",
        ),
        Difference(
            "no consolidated context",
            "the retrieved chunks",
            "the text `(No context available)`",
            "the retrieved chunks, and the answer states it",
            "stages/queries/test_augment.py::test_b5_without_passages_the_retrieved_chunks_are_shown_by_score_and_marked",
        ),
        Difference(
            "the order of edited passages",
            "not mentioned",
            "sorted by score again",
            "kept",
            "stages/queries/test_augment.py::test_the_order_of_the_context_is_kept_so_that_an_edit_counts",
        ),
        Difference(
            "an edit of question or expansion",
            "the question can be edited",
            "it cannot; vectors of an edited expansion stay",
            "both can be edited; what was computed from them is stale",
            "services/questions/test_edits.py::test_a_changed_expansion_keeps_its_other_parts_and_needs_vectors",
        ),
        Difference(
            "searching again",
            "not mentioned",
            "leaves the context of the former search",
            "makes it stale",
            "store/questions/test_query_view.py::test_stored_values_are_shown_and_stale_ones_are_not",
        ),
        Difference(
            "a failed embedding",
            "`vec_err`",
            "`vec_err`, and no step repairs it",
            "`vec_err`; the step again, or a retry, repairs it",
            "store/questions/test_queries.py::test_a_failed_embedding_shows_as_vec_err_until_a_retry",
        ),
        Difference(
            "dimension of vectors",
            "768",
            "768",
            "that of the corpus's embedder",
            "stages/corpora/test_embed.py::test_a_model_of_another_dimension_is_an_error",
        ),
        Difference(
            "what is embedded of a chunk",
            "not mentioned",
            "its content",
            "its content under its headings; `--no-embed-headings` leaves them out",
            "stages/corpora/test_embed.py::test_all_chunks_go_in_one_call_under_their_headings_or_alone",
        ),
        Difference(
            "length of chunks",
            "not mentioned",
            "200 words, 300 at most",
            "by the tokens that the embedder reads; `--chunk-tokens 0` as the code",
            "stages/corpora/test_packing.py::test_chunks_of_tokens_are_filled_and_share_a_quarter_at_most",
        ),
        Difference(
            "tables and figures",
            "not mentioned",
            "stored, never found",
            "found by their rows, descriptions and captions, unless `RAGQ_SEARCH_TABLES=false`",
            "store/corpora/test_searched_tables.py::test_tables_and_figures_are_found_and_their_lines_are_those_of_the_work",
        ),
        Difference(
            "content without a heading that is a chunk",
            "not mentioned",
            "left out",
            "every line with words is in a chunk",
            "stages/corpora/test_cut.py::test_no_line_with_words_is_lost_and_every_chunk_is_inside_its_parent",
        ),
        Difference(
            "cutting or importing a work again",
            "not mentioned",
            "adds its chunks once more",
            "changes nothing, or replaces the work",
            "store/corpora/test_works.py::test_another_text_of_the_same_source_replaces_the_work_and_every_chunk",
        ),
        Difference(
            "the list of questions",
            "by number, with four fields of progress",
            "by time, with other fields",
            "by time, newest first, with the fields of both",
            "api/rest/rag/test_queries.py::test_the_list_has_the_fields_of_the_seed_and_of_the_code",
        ),
    ),
    "Participants": (
        Difference(
            "the wording of the prompts for extraction, scoring and judging",
            "not printed",
            "its own",
            "ragq's own in every profile, `paper` and `paper-parity` included: no profile changes more than values",
            "schemas/settings/test_resolve.py::test_the_paper_parity_profile_differs_in_the_form_of_the_prompt_alone",
        ),
        Difference(
            "no references",
            "an empty text (2026-01-07), or a block with a sentence (2026-01-01)",
            "an empty text",
            "an empty text; the sentence with `RAGQ_PROMPT_FORMAT=sentinel`, the paper's delimiter too with `notebook`",
            "stages/participants/test_reference_block.py"
            "::test_each_format_closes_the_block_and_stands_for_no_references_in_its_way",
        ),
        Difference(
            "parity together with guardrails, tags, chunk scores or validation",
            "are not to be mixed",
            "mixed without a word",
            "the submission and every report say that parity is left",
            "services/test_few_shot.py::test_a_run_beside_the_notebook_names_the_settings_by_which_it_leaves_parity",
        ),
        Difference(
            "where evidence comes from",
            "the qualitative assessment",
            "the transcript",
            "the transcript, or quotes given with `--evidence`",
            "stages/participants/test_extract.py"
            "::test_the_call_asks_for_json_about_the_whole_transcript_and_names_nobody_in_its_purpose",
        ),
        Difference(
            "references with validation off",
            "top_k holds",
            "at most two, whatever top_k is",
            "top_k holds",
            "recorded/test_recorded_outputs.py::test_top_k_holds_with_validation_off",
        ),
        Difference(
            "ties of similarity",
            "not mentioned",
            "compared in float32: 1e-9 apart is equal",
            "compared in float64",
            "recorded/test_recorded_outputs.py::test_ties_are_ties_in_float64",
        ),
        Difference(
            "a query vector cut to fewer dimensions",
            "not mentioned",
            "not normalised again with its own backend",
            "always of length 1",
            "stages/test_vectors.py::test_rows_are_cut_and_then_normalised",
        ),
        Difference(
            "typographic apostrophes in embedded texts",
            "not mentioned",
            "embedded as they are",
            "straightened for the embedder alone",
            "stages/participants/test_embed.py::test_typographic_apostrophes_are_straightened_for_the_embedder_alone",
        ),
        Difference(
            "a text longer than the embedder reads",
            "not mentioned",
            "cut",
            "refused, or cut and counted",
            "stages/participants/test_embed.py::test_evidence_that_is_longer_than_the_embedder_reads_is_refused",
        ),
        Difference(
            "a transcript longer than the model reads",
            "not mentioned",
            "sent whole",
            "refused at submission, with its tokens",
            "services/test_served_models.py"
            "::test_a_transcript_that_is_longer_than_its_model_reads_is_refused_with_its_tokens",
        ),
        Difference(
            "the tested participant's own chunks",
            "kept out by the choice of split",
            "the same",
            "never searched, nor those of the split",
            "stages/participants/test_retrieve.py::test_no_reference_comes_from_the_own_split_of_a_run",
        ),
        Difference(
            "the phrases of item tags",
            "in a file",
            "the file is gone",
            "ragq's own, matched as whole words",
            "stages/participants/test_item_tags.py::test_no_phrase_matches_inside_other_words_or_across_lines",
        ),
        Difference(
            "a chunk that the scorer failed on",
            "not mentioned",
            'eight times "no score", with a warning',
            "its job fails, and nothing is published",
            "stages/participants/test_chunk_scores.py::test_an_unusable_reply_raises_and_never_becomes_nulls",
        ),
        Difference(
            "a description of an index, or chunk scores, that cannot be read",
            "not mentioned",
            "a warning",
            "an error",
            "stages/participants/artifacts/test_load.py"
            "::test_a_description_that_cannot_be_read_is_a_mismatch_and_no_missing_one",
        ),
        Difference(
            "malformed evidence, verdicts and chunk scores",
            "an error",
            'an error, or "no score"',
            "asked again with what was wrong (`RAGQ_REPLY_RETRIES`), then an error",
            "stages/participants/test_validate.py::test_a_reply_that_is_no_verdict_is_sent_back_with_what_is_wrong",
        ),
        Difference(
            "a reply with several answers that differ",
            "not mentioned",
            "the first counts",
            "the last counts, and the report counts it (`several_answers`)",
            "recorded/test_recorded_outputs.py"
            "::test_a_reply_that_is_no_single_answer_is_not_read_as_the_published_code_reads_it",
        ),
        Difference(
            "a key of a reply in another spelling",
            "not mentioned",
            "ignored",
            "matched and recorded",
            "stages/participants/test_item_keys.py::test_another_spelling_of_a_key_is_matched_and_recorded",
        ),
        Difference(
            "a key of a reply twice, with two values",
            "not mentioned",
            "the last counts",
            "asked again",
            "stages/replies/test_tolerant.py::test_a_name_with_two_values_is_refused_because_one_would_be_lost",
        ),
        Difference(
            "`true` as a score",
            "not mentioned",
            "counts as 1",
            "no score, and asked again",
            "stages/participants/test_score_schema.py::test_any_other_score_is_refused",
        ),
        Difference(
            "nothing scored at all",
            "not mentioned",
            "areas of 0, the best there is",
            "`N/A`, without an interval",
            "recorded/test_recorded_outputs.py::test_areas_of_a_cohort_without_scores_have_no_value",
        ),
        Difference(
            "an interval of fewer than ten participants",
            "not mentioned",
            "as of many",
            "none",
            "stages/metrics/test_bootstrap.py::test_fewer_than_ten_participants_have_no_interval",
        ),
        Difference(
            "an interval of a risk beyond Cmax",
            "not mentioned",
            "of other draws",
            "none",
            "stages/metrics/test_risk_band.py::test_coverages_beyond_cmax_have_no_band",
        ),
        Difference(
            "the temperature of a calibration",
            "not mentioned",
            "the best of a grid",
            "the minimum",
            "stages/metrics/test_calibrators.py::test_the_temperature_has_the_smallest_loss_of_all_on_a_fine_grid",
        ),
        Difference(
            "settings in the result file",
            "not mentioned",
            "without threshold, budget, tag filter, score source and validator",
            "all",
            "stages/reports/test_report.py::test_provenance_names_what_the_original_left_out",
        ),
        Difference(
            "time-outs and transcripts among the failures",
            "categories of their own",
            "`unknown`",
            "categories of their own",
            "stages/test_failures.py::test_every_exception_has_its_category",
        ),
        Difference(
            "keyword backfill of evidence",
            "removed",
            "removed",
            "refused by name",
            "schemas/settings/test_original_names.py::test_a_value_that_ragq_does_not_have_is_refused_once",
        ),
    ),
    "Tags": (
        Difference(
            "similarity of a phrase and a token",
            "FastText",
            "",
            "spelling, meaning and FastText together; FastText alone with `PSQ_SIMILARITY=original`",
            "stages/tags/test_similarity.py"
            "::test_a_misspelt_name_is_found_by_its_spelling_and_another_word_by_its_meaning",
        ),
        Difference(
            "heads",
            "count in the context, and as much as phrases",
            "",
            "with `PSQ_SIMILARITY=original` likewise; otherwise not in the context, and half",
            "stages/tags/test_context.py"
            "::test_heads_are_no_part_of_the_context_and_count_half_unless_fasttext_counts_alone",
        ),
        Difference(
            "tags that a phrase keeps",
            "1",
            "",
            "`PSQ_RETRIEVAL_PER_PHRASE_FINAL_K=auto`: those near the best; 1 with `PSQ_SIMILARITY=original`",
            "stages/tags/test_cut.py::test_without_a_number_the_tags_near_the_best_are_kept",
        ),
        Difference(
            "minimum count of tags",
            "0 in the library, 100 in the application",
            "",
            "0 in the library, `PSQ_MIN_TAG_COUNT=auto` in runs: 100 where nearly all tags reach it, otherwise 0",
            "schemas/settings/test_run.py::test_names_and_defaults_are_those_of_the_seeds",
        ),
        Difference(
            "tags of a phrase",
            "1",
            "",
            "those whose score is at least 0.6 of the best one's, five at most; 1 with `PSQ_SIMILARITY=original`",
            "stages/tags/test_cut.py::test_without_a_number_the_tags_near_the_best_are_kept",
        ),
        Difference(
            "tags that are not permitted",
            "filtered among neighbours",
            "",
            "filtered everywhere, exact matches and required tags included",
            "stages/tags/test_ambiguities.py::test_ambiguity_1_the_policy_holds_for_exact_matches_and_required_tags",
        ),
        Difference(
            "more required tags than places",
            "the last item is evicted",
            "",
            "the list of the phrase grows: all are in it",
            "stages/tags/test_ambiguities.py"
            "::test_ambiguity_2_a_phrase_with_more_required_tags_than_places_gets_them_all",
        ),
        Difference(
            "equal scores",
            "in no stated order",
            "",
            "by count, then by name",
            "stages/tags/test_ambiguities.py::test_ambiguity_6_equal_scores_are_ordered_by_count_and_then_by_tag",
        ),
        Difference(
            "values out of range",
            "not mentioned",
            "",
            "refused",
            "stages/tags/test_ambiguities.py::test_ambiguity_15_a_weight_outside_of_0_to_1_is_refused",
        ),
        Difference(
            "pickled vectors and models",
            "read",
            "",
            "refused; ragq trains its own, and reads formats without code",
            "adapters/test_imported_vectors.py::test_a_pickle_is_refused_before_anything_reads_it",
        ),
    ),
}


_HEAD: Final = """\
# Where ragq differs

ragq was built after three systems: the few-shot scoring of ai-psychiatrist (runtime features of 2026-01-07, prompt
format of 2026-01-01, Spec 33 of 2025-12-29), the query pipeline of psychrag (its page of the RAG pipeline), and the
retrieval of tags of Prompt Squirrel (its contract of stage 2). This page lists where ragq does not do what
their documents say, or what their published code does. What is not listed is meant to be as documented; blocks of
references, selection, metrics, confidences, bootstrap, chunking, grounding and parsing are also held to recorded
outputs of the published code (`tests/recorded`).

The page is generated from `tests/docs/differences.py`. Each line names the test that holds it, below `tests`.
"""

_INTRODUCTIONS: Final = {
    "Queries": "[Presets](presets.md) explains the values that are named here.",
    "Participants": "[Reproducing the published tables](reproduce.md) has the commands and figures.",
    "Tags": "The code of the original is not published. [Tags](tags.md) explains the settings.",
}


def page() -> str:
    """The text of docs/differences.md."""
    parts = [_HEAD]
    for title, differences in SECTIONS.items():
        has_code = any(one.code for one in differences)
        header = ["what", "the documents", *(["the published code"] if has_code else []), "ragq", "test"]
        rows = [header, ["---"] * len(header)]
        for one in differences:
            test = f"`{one.test}`"
            rows.append([one.what, one.documents, *([one.code] if has_code else []), one.ragq, test])
        parts += [f"## {title}", "", _INTRODUCTIONS[title], "", *(f"| {' | '.join(row)} |" for row in rows), ""]
    return "\n".join(parts)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
