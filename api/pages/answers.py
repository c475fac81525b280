"""Answers as pages show them: markdown as HTML, with links to the sources."""

import re
from collections.abc import Collection, Sequence
from html import escape
from typing import Any, Final, NamedTuple

import nh3
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererProtocol
from markdown_it.rules_core import StateCore
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from markupsafe import Markup

from schemas.values.queries import Source
from stages.queries.augment import SourceText, source_texts
from stages.queries.templates import CITATION, LABEL
from stages.texts.characters import commonmark
from store.database import Connection
from store.questions import answers
from store.questions.queries import StoredResult

_TAGS: Final = {
    *("p", "br", "hr", "em", "strong", "s", "code", "pre", "blockquote", "ul", "ol", "li", "a", "span"),
    *("h3", "h4", "h5", "h6", "table", "thead", "tbody", "tr", "th", "td"),
}

_SCHEMES: Final = {"http", "https", "mailto"}

_OWN_LINK: Final = re.compile(r"#source-S[1-9]\d*")


def answer_html(answer: str, labels: Collection[str]) -> Markup:
    """An answer, with each cited label linked to its source, `#source-S1`; labels without a source are marked.

    HTML in the answer is shown as text, and images as their descriptions. Headings start at level 3.
    """
    rendered: str = _MARKDOWN.render(answer, {"labels": frozenset(labels)})
    clean = nh3.clean(
        rendered,
        tags=_TAGS,
        clean_content_tags=set(),
        attributes={"a": {"href", "class"}, "span": {"class"}, "ol": {"start"}},
        attribute_filter=_attribute,
        url_schemes=_SCHEMES,
        link_rel="noreferrer noopener nofollow",
    )
    return Markup(clean)


def _attribute(tag: str, attribute: str, value: str) -> str | None:
    """Keep links to other sites, and to sources of an answer."""
    if (tag, attribute) != ("a", "href") or _OWN_LINK.fullmatch(value):
        return value
    return value if value.partition(":")[0].lower() in _SCHEMES else None


def _citation(state: StateInline, silent: bool) -> bool:
    """`[S1]` and `[S1, S2]` are citations, whatever follows them; as `stages.queries.templates` finds them."""
    found = CITATION.match(state.src, state.pos, state.posMax)
    if found is None:
        return False
    if not silent:
        token = state.push("citation", "", 0)
        token.content = found[1]
    state.pos = found.end()
    return True


def _render_citation(_renderer: RendererProtocol, tokens: Sequence[Token], place: int, _options: Any, env: Any) -> str:
    parts = (_render_label(label, env["labels"]) for label in LABEL.findall(tokens[place].content))
    return f'<span class="cites">[{", ".join(parts)}]</span>'


def _render_label(label: str, labels: Collection[str]) -> str:
    if label in labels:
        return f'<a class="cite" href="#source-{label}">{label}</a>'
    return f'<span class="cite-unknown">{label} (not in the prompt)</span>'


def _render_image(_renderer: RendererProtocol, tokens: Sequence[Token], place: int, _options: Any, _env: Any) -> str:
    return escape(tokens[place].content)


def _nest_headings(state: StateCore) -> None:
    """Number headings by their nesting: an answer may begin with any level, and skip levels."""
    above: list[int] = []
    for opening, closing in zip(state.tokens, state.tokens[2:], strict=False):
        if opening.type == "heading_open":
            level = int(opening.tag[1:])
            above = [*(one for one in above if one < level), level]
            opening.tag = closing.tag = f"h{min(2 + len(above), 6)}"


def _markdown() -> MarkdownIt:
    made = commonmark({"html": False}).enable(["table", "strikethrough"])
    # A reference definition could turn every later citation into a link; indented lines of an answer are not code.
    made.disable(["reference", "code"])
    made.inline.ruler.before("link", "citation", _citation)
    made.core.ruler.push("nest_headings", _nest_headings)
    made.add_render_rule("citation", _render_citation)
    made.add_render_rule("image", _render_image)
    return made


_MARKDOWN: Final = _markdown()


class ShownAnswer(NamedTuple):
    """An answer with the text of each source in its prompt."""

    result: StoredResult
    html: Markup
    sources: list[tuple[Source, SourceText | None, bool]]
    """Those that it cites, then those that were only in its prompt; the text is None where the prompt is."""
    prompt: str | None
    """None when it is no longer stored."""


async def shown_answer(connection: Connection, job_id: int, result: StoredResult) -> ShownAnswer:
    """An answer as pages show it, with links to the sources beside it."""
    prompt = await answers.prompt(connection, job_id, result.prompt_hash)
    labels = [source.label for source in result.sources]
    texts = {} if prompt is None else source_texts(prompt, result.sources)
    cited_first = sorted(result.sources, key=lambda source: source.label not in result.cited)
    return ShownAnswer(
        result=result,
        html=answer_html(result.response_text, labels),
        sources=[(source, texts.get(source.label), source.label in result.cited) for source in cited_first],
        prompt=prompt,
    )
