"""Prompt templates: their kinds, the text of version 1, and how placeholders are filled in.

A placeholder is a name in braces, `{query}`. A literal brace is doubled.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from enum import StrEnum
from importlib import resources
from string import Formatter
from typing import Final, NamedTuple

from schemas.errors import LLMResponseParseError, TemplateError
from schemas.settings.preset import AugmentationPreset
from schemas.settings.run import RunSettings
from schemas.values.base import can_be_stored
from schemas.values.chat import ChatCall, Message
from schemas.values.queries import Answer, AugmentedPrompt, Origin
from stages.ports import ChatModel, OnText
from stages.replies.asking import is_cut_off, messages_of
from stages.texts.characters import DATA_RULE, commonmark, short_hash


class TemplateTag(StrEnum):
    """The purpose of a template."""

    QUERY_EXPANSION = "query_expansion"
    RAG_AUGMENTATION = "rag_augmentation"
    SHORT_ANSWER = "short_answer"
    CHUNK_VALIDATION = "chunk_validation"
    TITLE_REPAIR = "title_repair"
    SECTION_SELECTION = "section_selection"


class TemplateRules(NamedTuple):
    """The placeholders that a template of one tag may and must have."""

    title: str
    variables: Mapping[str, str]
    """The meaning of each placeholder, by name; a template may use any of them, any number of times."""
    required: tuple[frozenset[str], ...]
    """A template uses at least one of each of these sets, or the prompt would lack an input."""


_ANSWER_RULES: Final = TemplateRules(
    "Answer from sources",
    {
        "user_question": "The question",
        "context_blocks": "The [S#] blocks, each fenced as data",
        "intent": "One of the six intents, or GENERAL",
        "entities_str": "The entities, separated by commas, or 'None specified'",
        "query": "The same as user_question",
        "contexts": "The same as context_blocks",
        "entities": "The same as entities_str",
    },
    (frozenset({"user_question", "query"}), frozenset({"context_blocks", "contexts"})),
)

RULES: Final[Mapping[TemplateTag, TemplateRules]] = {
    TemplateTag.QUERY_EXPANSION: TemplateRules(
        "Query expansion",
        {"query": "The question, fenced as data", "n": "How many search phrases to ask for"},
        (frozenset({"query"}), frozenset({"n"})),
    ),
    TemplateTag.RAG_AUGMENTATION: _ANSWER_RULES,
    TemplateTag.SHORT_ANSWER: _ANSWER_RULES._replace(title="Short answer from sources"),
    TemplateTag.CHUNK_VALIDATION: TemplateRules(
        "Relevance of a chunk",
        {"query": "The question, fenced as data", "chunk": "The passage with its headings, fenced as data"},
        (frozenset({"query"}), frozenset({"chunk"})),
    ),
    TemplateTag.TITLE_REPAIR: TemplateRules(
        "Repair of headings",
        {
            "headings": "The headings of a document, with their lines and levels, fenced as data",
            "contents": "The document's own table of contents, fenced as data",
            "before": "The last headings of the part before, as they were repaired, fenced as data",
        },
        (frozenset({"headings"}),),
    ),
    TemplateTag.SECTION_SELECTION: TemplateRules(
        "Selection of sections",
        {"headings": "The headings of a document, with their lines and levels, fenced as data"},
        (frozenset({"headings"}),),
    ),
}

OF_ANSWERS: Final = (TemplateTag.RAG_AUGMENTATION, TemplateTag.SHORT_ANSWER)
"""Those that RAGQ_ANSWER_TEMPLATE chooses from."""
OF_QUESTIONS: Final = (TemplateTag.QUERY_EXPANSION, *OF_ANSWERS, TemplateTag.CHUNK_VALIDATION)
"""Those whose versions a question is submitted with."""
OF_DOCUMENTS: Final = (TemplateTag.TITLE_REPAIR, TemplateTag.SECTION_SELECTION)
"""Those whose versions a document is submitted with."""


def default_template(tag: TemplateTag) -> str:
    """The text of version 1."""
    return (resources.files("stages.queries") / "default_templates" / f"{tag}.txt").read_text("utf-8")


def check_template(tag: TemplateTag, template: str) -> None:
    """Raise TemplateError, with every problem, for a text that cannot be a template of this tag."""
    rules = RULES[tag]
    used = placeholders(template)
    problems = list(_unknown(used, rules.variables))
    for names in rules.required:
        if names.isdisjoint(used):
            problems.append(f"{' or '.join(f'{{{name}}}' for name in sorted(names))} is missing")
    if problems:
        raise TemplateError(f"The template of {tag} cannot be used: {'; '.join(problems)}.")


def render(template: str, values: Mapping[str, str]) -> str:
    """The template with its placeholders filled in. Braces in values are kept. Raises TemplateError for a placeholder
    that has no value. Values without a placeholder are not used.

    >>> render('{{"query": "{query}"}}', {"query": "{n}", "n": "3"})
    '{"query": "{n}"}'
    """
    if unknown := list(_unknown(placeholders(template), values)):
        raise TemplateError(f"The template cannot be filled in: {'; '.join(unknown)}.")
    return "".join(literal + (values[name] if name is not None else "") for literal, name in _parts(template))


def placeholders(template: str) -> tuple[str, ...]:
    """The names of the placeholders, each once, in order of first use. Raises TemplateError for a broken template."""
    return tuple(dict.fromkeys(name for _, name in _parts(template) if name is not None))


def _parts(template: str) -> Iterator[tuple[str, str | None]]:
    """Literal texts, each with the placeholder that follows it; None at the end or after a doubled brace."""
    try:
        parts = list(Formatter().parse(template))
    except ValueError as error:
        raise TemplateError(f"The template's braces do not pair ({error}); double literal braces.") from (None)
    for literal, name, form, conversion in parts:
        if name is not None and (not name.isidentifier() or form or conversion):
            raise TemplateError(
                "The template has braces that are not a placeholder: a placeholder is a plain name, {query}; "
                "double literal braces."
            )
        yield literal, name


def _unknown(used: Collection[str], known: Collection[str]) -> Iterator[str]:
    for name in used:
        if name not in known:
            yield f"{{{name}}} is unknown; there are {', '.join(f'{{{variable}}}' for variable in known)}"


_SYSTEM = f"You answer questions from sources, and cite them. {DATA_RULE}"


async def generate_answer(
    augmented: AugmentedPrompt,
    *,
    chat: ChatModel,
    model: str,
    settings: RunSettings,
    preset: AugmentationPreset,
    sample: int = 0,
    on_text: OnText | None = None,
) -> Answer:
    """Ask the model once; `sample` distinguishes several answers to the same prompt. `on_text` is given the pieces of
    the answer while it is written. Raises LLMResponseParseError for a blank answer, and the client's errors."""
    call = ChatCall(
        model=model,
        messages=answer_messages(augmented.prompt),
        temperature=settings.ragq.query_temperature,
        max_tokens=preset.max_answer_tokens or settings.ragq.query_max_tokens or None,
        sample=sample,
        timeout_s=settings.ollama.timeout_seconds,
        purpose="generate answer",
    )
    reply = await chat.chat(call, on_text)
    return stored_answer(reply.text, augmented, origin=Origin.MODEL, model=model, is_cut=is_cut_off(reply))


def pasted_answer(text: str, augmented: AugmentedPrompt) -> Answer:
    """An answer by an external model. Raises LLMResponseParseError for one that is blank or cannot be stored."""
    if not can_be_stored(text):
        raise LLMResponseParseError(text, "the answer contains characters that cannot be stored")
    return stored_answer(text, augmented, origin=Origin.PASTED, model=None)


def answer_messages(prompt: str) -> tuple[Message, ...]:
    """What the model is sent for a prompt."""
    return messages_of(_SYSTEM, prompt)


def stored_answer(
    text: str, augmented: AugmentedPrompt, *, origin: Origin, model: str | None, is_cut: bool = False
) -> Answer:
    if not text.strip():
        raise LLMResponseParseError(text, "the answer is blank")
    known, unknown = citations(text, [source.label for source in augmented.sources])
    return Answer(
        origin=origin,
        model=model,
        prompt_hash=short_hash(augmented.prompt),
        response_text=text,
        cited=known,
        unknown_citations=unknown,
        is_cut=is_cut,
    )


ANSWER_MARKDOWN = commonmark().disable(["link", "image", "reference", "autolink", "html_inline", "html_block", "code"])
"""Labels are not links, whatever follows them, and indented lines of an answer are not code."""

CITATION: Final = re.compile(r"\[(S[1-9]\d*(?:\s*[,;]\s*S[1-9]\d*)*)\]")
"""`[S1]`, or `[S1, S2]`."""

LABEL: Final = re.compile(r"S\d+")
"""One label of a citation."""


def citations(answer: str, labels: Collection[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The labels that an answer in markdown cites: `[S1]`, or `[S1, S2]` for several. Labels in code do not count.
    Those of the given labels, and others; both in order of first mention, each once.

    >>> citations("So it is [S2][S9], though not `x[S1]`.", ["S1", "S2"])
    (('S2',), ('S9',))
    """
    cited = dict.fromkeys(
        label for text in _texts(answer) for found in CITATION.findall(text) for label in LABEL.findall(found)
    )
    return tuple(one for one in cited if one in labels), tuple(one for one in cited if one not in labels)


def _texts(markdown: str) -> Iterator[str]:
    """The running text of each block, without its code."""
    for block in ANSWER_MARKDOWN.parse(markdown):
        yield "".join(part.content for part in block.children or () if part.type != "code_inline")
