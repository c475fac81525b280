"""Text that models put around their JSON: answer tags and code fences."""

import re

_FENCED_BLOCK = re.compile(r"```(?:json)?(.*?)```", re.DOTALL | re.IGNORECASE)
_FENCE = re.compile(r"```(?:json)?", re.IGNORECASE)
_OPENING_FENCES = re.compile(r"(?:```(?:json)?\s*)+", re.IGNORECASE)


def unwrap(reply: str) -> str:
    """The part of a reply that should be JSON.

    The text between the last pair of answer tags if there is one; of that the fenced block if there is one; unclosed
    fences are removed.

    >>> unwrap('Thinking aloud. <answer>```json {"score": 1} ```</answer>')
    '{"score": 1}'
    """
    before_end, end_tag, _ = reply.rpartition("</answer>")
    _, start_tag, answer = before_end.rpartition("<answer>")
    text = answer if start_tag and end_tag else reply
    block = fenced_block(text)
    return _FENCE.sub("", text if block is None else block).strip()


def fenced_block(text: str) -> str | None:
    """What follows the first fence after which an object begins, up to the next fence; else the first fenced block.

    A fence that is opened twice, or an empty block before the object, is skipped. None without a fenced block.

    >>> fenced_block('```json\\n```\\n```json\\n{"score": 1}\\n```').strip()
    '{"score": 1}'
    """
    _, *parts = _FENCE.split(text)
    objects = (part for part in parts[:-1] if part.lstrip().startswith("{"))
    block = _FENCED_BLOCK.search(text)
    return next(objects, block[1] if block else None)


def strip_whole_fence(reply: str) -> str:
    """The reply without a code fence, or several of them, around all of it."""
    text = reply.strip()
    if not text.endswith("```") or (opening := _OPENING_FENCES.match(text)) is None:
        return text
    return text[opening.end() :].rstrip("` \t\r\n")
