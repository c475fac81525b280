"""What a user of few-shot scoring or of queries checks first, and the test that holds each of it.

Run a row with pytest: `pytest tests/stages/participants/test_reference_block.py -k empty_bundle`. The test below holds
that everything named here is there.
"""

import ast
from functools import cache
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]

BLOCK = "stages/participants/test_reference_block.py"
RERANK = "stages/participants/test_rerank.py"
EMBED = "stages/participants/test_embed.py"
LOAD = "stages/participants/artifacts/test_load.py"
VALIDATE = "stages/participants/test_validate.py"
SIMILARITY = "stages/participants/test_similarity.py"
PROMPTS = "acceptance/test_prompts.py"
EXPAND = "stages/queries/test_expand.py"
FUSION = "stages/queries/test_fusion.py"
SEARCH = "stages/queries/test_retrieve.py"
FILTERS = "stages/queries/test_filters.py"
MMR = "stages/queries/test_mmr.py"
CONSOLIDATE = "stages/queries/test_consolidate.py"
AUGMENT = "stages/queries/test_augment.py"
ASKED = "acceptance/test_queries.py"
STATES = "acceptance/test_query_states.py"
REST = "api/rest/rag"

FIRST_LOOK: dict[str, tuple[str, ...]] = {
    "A 1, an empty reference block is the empty text": (f"{BLOCK}::test_empty_bundle_is_the_empty_string",),
    "A 1, one entry, and a chunk of several lines is kept raw": (
        f"{BLOCK}::test_single_entry_keeps_a_chunk_of_several_lines_raw",
        f"{PROMPTS}::test_the_reference_block_is_exact_to_the_byte",
    ),
    "A 1, a reference without a score is skipped": (f"{BLOCK}::test_none_score_skipped",),
    "A 1, the order is by item and not by insertion": (
        f"{BLOCK}::test_multi_item_order_is_that_of_the_questionnaire_and_within_an_item_that_of_retrieval",
    ),
    "A 2, threshold 0.5 keeps 0.9 and drops 0.1": (f"{RERANK}::test_reference_threshold_filters_low_similarity",),
    "A 2, a budget of 5 keeps one of two chunks of 5": (f"{RERANK}::test_reference_budget_limits_included_matches",),
    "A 2, the defaults sort unsorted references and keep two": (
        f"{RERANK}::test_defaults_preserve_existing_selection",
    ),
    "A 3, one embedding call per participant": (
        f"{EMBED}::test_batch_called_once_in_the_order_of_the_questionnaire",
        f"{PROMPTS}::test_a_participant_with_evidence_costs_one_embedding_call",
    ),
    "A 3, none without evidence": (
        f"{EMBED}::test_no_evidence_embedder_not_called",
        f"{PROMPTS}::test_a_participant_without_evidence_costs_none",
    ),
    "A 3, the time-out of the settings surfaces with its seconds": (
        f"{EMBED}::test_timeout_surfaces_as_llm_timeout_error_with_the_seconds",
        "acceptance/test_server_failures.py::test_a_time_out_names_the_seconds_of_the_setting",
    ),
    "A 4, filter off: a corrupt file of tags is not looked at": (
        f"{LOAD}::test_tags_that_are_not_asked_for_are_not_looked_at",
    ),
    "A 4, filter on: missing or invalid tags raise, with what to do": (
        f"{LOAD}::test_tags_that_are_asked_for_have_to_be_there_and_right",
        "acceptance/test_item_tags.py::test_an_index_without_tags_is_refused_by_the_filter_and_serves_without_it",
    ),
    "A 5, chunk scores have exactly the eight keys, and true is no score": (
        f"{LOAD}::test_chunk_scores_that_are_asked_for_have_to_be_there_and_right",
        "stages/participants/test_chunk_scores.py::test_bad_values_raise",
        "stages/participants/test_chunk_scores.py::test_bad_keys_raise_all_at_once_and_are_not_shown",
    ),
    "A 5, another prompt is refused unless it is allowed": (
        f"{LOAD}::test_scores_by_another_prompt_are_refused_unless_they_are_accepted",
    ),
    "A 5, without chunk scores a run is refused at submission": (
        "acceptance/test_refusals.py::test_a_run_by_chunk_scores_is_refused_on_an_index_without",
    ),
    "A 6, accept keeps, reject and unsure drop, until enough are accepted": (
        f"{VALIDATE}::test_references_are_walked_in_order_until_enough_are_accepted",
        f"{VALIDATE}::test_the_cap_holds_for_each_item",
    ),
    "A 6, a reply that is no verdict raises LLMResponseParseError": (
        f"{VALIDATE}::test_a_reply_that_is_no_verdict_raises_and_is_not_repaired",
        "acceptance/test_validation_failure.py::test_the_chain_fails_at_validate_with_the_parse_error",
    ),
    "A 6, an exception keeps its type": (
        f"{VALIDATE}::test_validator_errors_propagate",
        "acceptance/test_server_failures.py::test_a_broken_connection_stays_what_it_is",
    ),
    "A 7, similarity is 1, 0.5 and 0": (
        f"{SIMILARITY}::test_similarity_is_one_for_the_same_half_for_a_right_angle_and_zero_for_the_opposite",
        "contracts/test_reference_search.py"
        "::test_similarity_is_1_for_the_same_a_half_at_a_right_angle_and_0_for_the_opposite",
    ),
    "A 7, another dimension raises": (f"{SIMILARITY}::test_a_query_of_another_dimension_is_a_mismatch",),
    "A 7, NaN raises": (
        f"{SIMILARITY}::test_a_cosine_that_is_no_number_is_refused",
        "stages/test_vectors.py::test_a_vector_that_points_nowhere_is_refused",
    ),
    "A 8, few-shot without references is zero-shot": (
        "stages/participants/test_assemble.py::test_few_shot_without_references_is_zero_shot_to_the_byte",
        f"{PROMPTS}::test_few_shot_without_references_is_zero_shot_to_the_byte",
    ),
    "A 9, three participants of paper-test run to a report in strict JSON, with audit events without text": (
        "acceptance/test_first_run.py::test_three_participants_of_the_paper_test_split_come_to_a_report",
        "acceptance/test_first_run.py::test_audit_events_hold_hashes_and_no_text",
        "cli/test_report.py::test_json_is_strict_and_has_the_shape_of_a_run",
    ),
    "A 10, a run that is killed goes on where it stopped, and nothing is different": (
        "acceptance/survival/test_kills.py::test_a_worker_killed_in_every_stage_costs_nothing_but_time",
        "acceptance/test_reports.py::test_a_killed_and_resumed_run_is_reported_as_one_that_was_never_disturbed",
    ),
}

QUERIES: dict[str, tuple[str, ...]] = {
    "B 1, fenced, unfenced and broken replies of an expansion": (
        f"{EXPAND}::test_b1_fenced_and_unfenced_replies_are_read",
        f"{EXPAND}::test_b1_backticks_inside_a_string_end_no_fence",
        f"{EXPAND}::test_b1_a_broken_reply_is_an_error_that_says_what_is_wrong",
        f"{EXPAND}::test_b1_an_object_of_the_wrong_shape_is_an_error_with_all_that_is_wrong",
    ),
    "B 1, missing keys are empty": (
        f"{EXPAND}::test_b1_a_missing_key_is_empty",
        f"{EXPAND}::test_b1_an_object_without_any_of_the_keys_is_no_expansion",
    ),
    "B 1, a pasted reply needs no model": (
        f"{EXPAND}::test_b1_pasting_asks_no_model_and_takes_any_number_of_queries",
        f"{ASKED}::test_pasted_replies_take_a_question_through_the_whole_chain_without_a_language_model",
        f"{ASKED}::test_a_pasted_expansion_that_cannot_be_used_is_refused_at_once",
    ),
    "B 2, reciprocal ranks with k 50": (
        f"{FUSION}::test_b2_rank_1_in_two_lists_scores_2_51ths",
        f"{FUSION}::test_b2_ranks_1_and_5_score_1_51th_and_1_55th",
    ),
    "B 2, the union of dense and lexical": (
        f"{FUSION}::test_b2_the_union_is_fused_and_ties_stay_in_first_seen_order_dense_first",
    ),
    "B 2, HyDE is not searched by full text": (
        f"{SEARCH}::test_b2_the_made_up_answer_is_searched_by_its_vector_alone",
    ),
    "B 2, filters of 150 words and 250 characters, and 0 switches off": (
        f"{FILTERS}::test_b2_chunks_have_at_least_150_words_and_250_characters",
        f"{FILTERS}::test_b2_a_limit_of_0_switches_a_filter_off_but_blank_chunks_never_stay",
        f"{SEARCH}::test_b2_a_limit_of_0_switches_a_leg_off",
    ),
    "B 3, entities and intent": (
        "stages/queries/test_entity_bias.py::test_b3_each_entity_counts_once_in_any_case",
        "stages/queries/test_intent_bias.py::test_b3_each_intent_prefers_its_levels",
        "stages/queries/test_intent_bias.py::test_b3_each_intent_prefers_its_length",
    ),
    "B 3, MMR returns all when they are few, and its extremes": (
        f"{MMR}::test_b3_no_more_candidates_than_asked_for_come_back_as_they_stand",
        f"{MMR}::test_b3_lambda_1_is_the_order_of_the_scores",
        f"{MMR}::test_b3_lambda_0_is_variety_alone",
    ),
    "B 4, half of a parent is the parent, and parents fold upward": (
        f"{CONSOLIDATE}::test_b4_chunks_that_cover_half_of_their_parent_are_replaced_by_it",
        f"{CONSOLIDATE}::test_b4_parents_fold_upward",
    ),
    "B 4, a gap of 7 merges and 8 does not, under 350 characters are dropped, a changed file raises": (
        f"{CONSOLIDATE}::test_b4_a_gap_of_7_lines_merges_and_one_of_8_does_not",
        f"{CONSOLIDATE}::test_b4_passages_under_350_characters_are_dropped",
        f"{CONSOLIDATE}::test_b4_a_changed_work_is_an_error",
        f"{ASKED}::test_a_work_that_changed_since_it_was_ranked_fails_the_chain",
    ),
    "B 5, labels in the order of scores, with headings, up to top_n": (
        f"{AUGMENT}::test_b5_blocks_carry_label_title_headings_and_lines_each_in_its_fence",
        f"{CONSOLIDATE}::test_groups_come_best_first_and_ties_in_order",
        f"{AUGMENT}::test_b5_the_first_top_n_are_shown_and_all_are_counted",
    ),
    "B 5, no context says so": (f"{AUGMENT}::test_b5_without_anything_the_prompt_says_so",),
    "B 6, from needs_embeddings to ready": (
        f"{STATES}::test_a_question_goes_from_status_to_status_until_it_is_ready",
        "store/test_queries.py::test_the_status_says_what_a_question_needs_next",
    ),
    "B 6, vec_err is seen, and a retry puts it right": (
        f"{STATES}::test_a_failed_embedding_is_seen_and_a_retry_puts_it_right",
        "store/test_queries.py::test_a_failed_embedding_shows_as_vec_err_and_goes_away_with_a_retry",
    ),
    "B 6, searching again replaces the contexts, and a question has several answers": (
        f"{STATES}::test_searching_again_replaces_the_contexts_and_keeps_the_answers",
        "store/test_queries.py::test_a_question_has_several_answers_newest_first",
    ),
    "B 7, presets: ranges, copies, one default, and what may be deleted": (
        "schemas/settings/test_preset.py::test_ranges_are_those_of_the_seed",
        "schemas/settings/test_preset.py::test_defaults_are_those_of_the_seed",
        "cli/test_presets.py::test_a_preset_is_created_as_a_copy_with_changes",
        "cli/test_presets.py::test_names_are_unique_in_any_case_and_the_default_stays",
        "store/test_presets.py::test_many_who_set_the_default_at_once_leave_one",
        "store/test_presets.py::test_the_default_cannot_be_deleted",
        "store/test_presets.py::test_no_default_is_an_error_and_never_a_built_in",
    ),
    "B 7, templates: versions, one active, and placeholders that are checked": (
        "store/test_templates.py::test_a_new_version_is_the_next_one_and_not_active",
        "store/test_templates.py::test_activating_a_version_retires_the_one_before",
        "store/test_templates.py::test_placeholders_are_checked_when_a_version_is_saved",
        "store/test_templates.py::test_no_active_template_is_an_error_and_never_a_built_in",
    ),
    "B 8, the field names of the seed's document and of its code": (
        "acceptance/test_seed_workflow.py::test_b8_field_names_of_the_seed_and_of_the_code_are_both_accepted",
        f"{REST}/test_queries.py::test_the_list_has_the_fields_of_the_seed_and_of_the_code",
        f"{REST}/test_queries.py::test_a_question_has_the_fields_of_the_seed_and_of_the_code",
        f"{REST}/test_queries.py::test_the_seeds_edit_changes_the_question_and_its_intent",
        f"{REST}/test_steps.py::test_embed_replies_as_the_seed_and_the_code_do",
        f"{REST}/test_steps.py::test_retrieve_replies_as_the_seed_and_the_code_do",
        f"{REST}/test_steps.py::test_consolidate_replies_as_the_seed_and_the_code_do",
        f"{REST}/test_steps.py::test_an_answer_replies_as_the_seed_and_the_code_do",
        f"{REST}/test_prompt_and_results.py::test_a_pasted_answer_is_saved_with_the_sources_it_was_shown",
        f"{REST}/test_expansion.py::test_the_prompt_is_shown_for_both_names_of_the_question",
        f"{REST}/test_expansion.py::test_a_question_is_asked_and_expanded",
        f"{REST}/test_expansion.py::test_a_pasted_expansion_needs_neither_model_nor_worker",
    ),
}

SPECS: dict[str, tuple[str, ...]] = {
    "33, threshold, budget, defaults, and a closing tag that closes": (
        f"{RERANK}::test_reference_threshold_filters_low_similarity",
        f"{RERANK}::test_reference_budget_limits_included_matches",
        f"{RERANK}::test_defaults_preserve_existing_selection",
        f"{BLOCK}::test_any_bundle_reads_as_the_format_says",
    ),
    "36, disabled keeps all, reject drops, all rejected is an empty item, no real model": (
        f"{VALIDATE}::test_disabled_keeps_all_whatever_their_number",
        f"{VALIDATE}::test_a_rejected_reference_is_dropped",
        f"{VALIDATE}::test_an_item_whose_references_are_all_rejected_is_empty",
    ),
    "37, one call, none without evidence, order, time-out": (
        f"{EMBED}::test_batch_called_once_in_the_order_of_the_questionnaire",
        f"{EMBED}::test_no_evidence_embedder_not_called",
        f"{EMBED}::test_timeout_surfaces_as_llm_timeout_error_with_the_seconds",
    ),
    "38, off does not look, on raises, errors of the validator propagate": (
        f"{LOAD}::test_tags_that_are_not_asked_for_are_not_looked_at",
        f"{LOAD}::test_tags_that_are_asked_for_have_to_be_there_and_right",
        f"{VALIDATE}::test_validator_errors_propagate",
    ),
}


@pytest.mark.parametrize(("row", "names"), [*FIRST_LOOK.items(), *QUERIES.items(), *SPECS.items()])
def test_every_row_is_held_by_tests_that_exist(row: str, names: tuple[str, ...]) -> None:
    missing = [name for name in names if name.split("::")[1] not in functions_of(name.split("::")[0])]
    assert (missing, bool(names)) == ([], True), row


def test_no_row_is_left_out() -> None:
    assert {int(row.split(",")[0].removeprefix("A ")) for row in FIRST_LOOK} == set(range(1, 11))
    assert {int(row.split(",")[0].removeprefix("B ")) for row in QUERIES} == set(range(1, 9))


@cache
def functions_of(file: str) -> frozenset[str]:
    tree = ast.parse((TESTS / file).read_text())
    return frozenset(node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
