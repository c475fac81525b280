"""Parsers of the replies of language models: `parse_reply` with recorded repairs, `parse_strict` without any."""

from stages.replies.strict import parse_strict
from stages.replies.tolerant import ParsedReply, RepairStep, parse_reply

__all__ = ["ParsedReply", "RepairStep", "parse_reply", "parse_strict"]
