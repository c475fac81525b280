"""The shape of extracted evidence (Spec 054)."""

import pytest
from jsonschema import Draft202012Validator

from schemas.errors import EvidenceSchemaError
from schemas.values.participants import PHQ8Item
from stages.participants.extract import EVIDENCE_JSON_SCHEMA, quotes_per_item


def test_quotes_are_trimmed_and_kept_once_in_order() -> None:
    quotes = quotes_per_item({"PHQ8_Sleep": [" b ", "a", "", "  ", "b", "A"]})

    assert quotes[PHQ8Item.SLEEP] == ("b", "a", "A")


def test_all_violations_are_reported_at_once_and_without_a_quote() -> None:
    reply = {
        "PHQ8_NoInterest": "secret",
        "PHQ8_Depressed": {"secret": 1},
        "PHQ8_Sleep": ["fine", 3],
        "PHQ8_Tired": ["fine", "fine", None],
        "PHQ8_Appetite": ["secret\x00"],
        "PHQ8_Failure": ["secret\ud800"],
        "PHQ8_Moving": False,
    }

    with pytest.raises(EvidenceSchemaError) as caught:
        quotes_per_item(reply)

    assert caught.value.violations == {
        "PHQ8_NoInterest": "expected_list_got_str",
        "PHQ8_Depressed": "expected_list_got_dict",
        "PHQ8_Sleep": "expected_list_str_got_int_at_1",
        "PHQ8_Tired": "expected_list_str_got_NoneType_at_2",
        "PHQ8_Appetite": "expected_list_str_got_unstorable_text_at_0",
        "PHQ8_Failure": "expected_list_str_got_unstorable_text_at_0",
        "PHQ8_Moving": "expected_list_got_bool",
    }
    assert "secret" not in str(caught.value)


def test_the_schema_for_servers_is_a_json_schema_that_wants_all_eight_keys() -> None:
    Draft202012Validator.check_schema(EVIDENCE_JSON_SCHEMA)
    validator = Draft202012Validator(EVIDENCE_JSON_SCHEMA)
    complete: dict[str, object] = {item.evidence_key: [] for item in PHQ8Item}

    assert [validator.is_valid(reply) for reply in (complete, {}, complete | {"PHQ8_Sleep": "x"})] == [
        True,
        False,
        False,
    ]
