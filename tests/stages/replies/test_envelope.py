"""Removing what models wrap around a reply."""

import pytest

from stages.replies.asking import strip_whole_fence, unwrap


@pytest.mark.parametrize(
    ("reply", "unwrapped"),
    [
        ("{}", "{}"),
        ("  {}\n", "{}"),
        ("Let me think.\n<answer>{}</answer>\nDone.", "{}"),
        ("It goes in <answer></answer> tags. <answer>{}</answer>", "{}"),
        ("<answer>{}", "<answer>{}"),
        ("```json\n{}\n```", "{}"),
        ("```JSON {} ```", "{}"),
        ("```\n{}\n```", "{}"),
        ("First ```json\n{}\n``` then ```[]```", "{}"),
        ("<answer>\n```json\n{}\n```\n</answer>", "{}"),
        ("```json\n```\n```json\n{}\n```", "{}"),
        ("```\n```json\n{}\n```\n```", "{}"),
        ("``` ```\nHere {it} is: ```json\n{}\n```", "{}"),
        ("```json\nHere it is: {}\n```", "Here it is: {}"),
        ("```json\n{}", "{}"),
        ("{}\n```", "{}"),
        ("", ""),
    ],
)
def test_tags_and_fences_are_removed(reply: str, unwrapped: str) -> None:
    assert unwrap(reply) == unwrapped


@pytest.mark.parametrize(
    ("reply", "stripped"),
    [
        ("```json\n{}\n```", "{}"),
        ("```{}```", "{}"),
        ("```json\n```\n```json\n{}\n```", "{}"),
        ("```\n```json\n{}\n```\n```", "{}"),
        ("{}", "{}"),
        ("Sure: ```{}```", "Sure: ```{}```"),
        ("```{}", "```{}"),
    ],
)
def test_only_fences_around_everything_are_stripped(reply: str, stripped: str) -> None:
    assert strip_whole_fence(reply) == stripped
