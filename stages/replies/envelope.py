"""Text that models put around their JSON: answer tags and code fences."""

import re

_FENCED_BLOCK = re.compile(r"```(?:json)?(.*?)```", re.DOTALL | re.IGNORECASE)
_FENCE = re.compile(r"```(?:json)?", re.IGNORECASE)
_WHOLE_FENCE = re.compile(r"```(?:json)?(.*)```", re.DOTALL | re.IGNORECASE)


def unwrap(reply: str) -> str:
    """The part of a reply that should be JSON.

    The text between the last pair of answer tags if there is one; of that the first fenced block if there is one;
    unclosed fences are removed.

    >>> unwrap('Thinking aloud. <answer>```json {"score": 1} ```</answer>')
    '{"score": 1}'
    """
    before_end, end_tag, _ = reply.rpartition("</answer>")
    _, start_tag, answer = before_end.rpartition("<answer>")
    text = answer if start_tag and end_tag else reply
    block = _FENCED_BLOCK.search(text)
    return _FENCE.sub("", block[1] if block else text).strip()


def strip_whole_fence(reply: str) -> str:
    """The reply without a code fence around all of it."""
    text = reply.strip()
    fenced = _WHOLE_FENCE.fullmatch(text)
    return fenced[1].strip() if fenced else text
