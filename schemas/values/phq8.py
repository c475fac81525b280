"""The eight PHQ-8 items and the severity bands of their sum."""

from enum import StrEnum


class PHQ8Item(StrEnum):
    """One item of the PHQ-8, in the order of the questionnaire: iterating gives that order."""

    NO_INTEREST = "NoInterest"
    DEPRESSED = "Depressed"
    SLEEP = "Sleep"
    TIRED = "Tired"
    APPETITE = "Appetite"
    FAILURE = "Failure"
    CONCENTRATING = "Concentrating"
    MOVING = "Moving"

    @property
    def evidence_key(self) -> str:
        """The name of the item in label columns, model replies and prompts: `PHQ8_Sleep`."""
        return f"PHQ8_{self.value}"

    @classmethod
    def from_evidence_key(cls, key: str) -> "PHQ8Item":
        """The item of an evidence key. Raises ValueError for any other text."""
        prefix, _, value = key.partition("_")
        if prefix != "PHQ8":
            raise ValueError(f"'{key}' is not an evidence key; keys look like PHQ8_Sleep.")
        return cls(value)


ITEM_SCORES = range(4)
"""The scores of one item."""


class AssessmentMode(StrEnum):
    """Whether the scoring prompt has references."""

    ZERO_SHOT = "zero_shot"
    FEW_SHOT = "few_shot"
