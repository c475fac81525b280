"""Plots as SVG, with the colours of the page or, as a file, light or dark as the reader is; and as PNG.

The same plot gives the same bytes.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from io import BytesIO, StringIO
from typing import Any, Final
from xml.etree import ElementTree

from markupsafe import Markup
from matplotlib import style
from matplotlib.axes import Axes
from matplotlib.colors import get_named_colors_mapping
from matplotlib.figure import Figure

from schemas.values.metrics import Interval

# Names of colours, which a page, an SVG file and a PNG each give values to.
INK, GRID, FIRST, SECOND, MUTED = "ragq:ink", "ragq:line", "ragq:first", "ragq:second", "ragq:muted"

#: Placeholders for the colours of the page, replaced when the SVG is written.
_PLACEHOLDERS: Final = {INK: "#010101", GRID: "#020202", FIRST: "#030303", SECOND: "#040404", MUTED: "#050505"}
_VARIABLES: Final = {value: f"var(--{name.partition(':')[2]})" for name, value in _PLACEHOLDERS.items()}
#: A PNG has a white ground.
_LIGHT: Final = {INK: "#1d2330", GRID: "#d5dae2", FIRST: "#2364aa", SECOND: "#bf5413", MUTED: "#5b6475"}
get_named_colors_mapping().update(_PLACEHOLDERS)

_COLOURS: Final = """\
svg { --ink: #1d2330; --line: #d5dae2; --first: #2364aa; --second: #bf5413; --muted: #5b6475; }
@media (prefers-color-scheme: dark) {
  svg { --ink: #e4e8ef; --line: #333b48; --first: #7ab3f0; --second: #f2a063; --muted: #9aa4b5; }
}
text { font-family: system-ui, sans-serif; }
"""

# Narrow enough for legible text on a phone, where a plot is as wide as the screen.
_INCHES = (4.6, 3.1)

_STYLE: Final[Mapping[str, Any]] = {
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.size": 8.5,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": GRID,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": GRID,
    "grid.linewidth": 0.6,
    "xtick.color": INK,
    "ytick.color": INK,
    "xtick.major.size": 0,
    "ytick.major.size": 0,
    "legend.frameon": False,
}


def svg(title: str, draw: Callable[[Axes], None]) -> Markup:
    """The drawing of `draw`, as an element labelled by the title."""
    # Ids are hashes of their content: without its own salt, one plot would use another's clipping.
    with style.context(["default", {**_STYLE, "svg.hashsalt": title}]):
        figure = Figure(figsize=_INCHES, layout="constrained")
        draw(figure.add_subplot())
        written = StringIO()
        figure.savefig(written, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    return _inline(written.getvalue(), title)


def png(draw: Callable[[Axes], None], title: str) -> bytes:
    """The drawing of `draw` as a PNG with its title, for documents that cannot show an SVG."""
    get_named_colors_mapping().update(_LIGHT)
    try:
        with style.context(["default", dict(_STYLE)]):
            figure = Figure(figsize=_INCHES, layout="constrained")
            draw(figure.add_subplot())
            figure.suptitle(title, fontsize=9)
            written = BytesIO()
            figure.savefig(written, format="png", dpi=200, facecolor="white", metadata={"Software": None})
    finally:
        get_named_colors_mapping().update(_PLACEHOLDERS)
    return written.getvalue()


def as_file(inline: Markup) -> str:
    """The element as a separate file, which includes the colours."""
    head, rest = inline.split(">", 1)
    return f'{head} xmlns="http://www.w3.org/2000/svg"><style>{_COLOURS}</style>{rest}'


def whiskers(intervals: Sequence[Interval]) -> list[list[float]]:
    """The distances of the ends below and above the values; a percentile interval need not contain its value."""
    values = [interval.value or 0.0 for interval in intervals]
    lows = [max(0.0, value - _or(found.low, value)) for value, found in zip(values, intervals, strict=True)]
    highs = [max(0.0, _or(found.high, value) - value) for value, found in zip(values, intervals, strict=True)]
    return [lows, highs]


def _or(bound: float | None, value: float) -> float:
    """A value without an interval has no whiskers."""
    return value if bound is None else bound


def _inline(svg: str, title: str) -> Markup:
    """The root element without parts that a page does not need: namespaces, description, sizes, unused ids."""
    root = ElementTree.fromstring(svg)
    used = set(re.findall(r"(?:url\(|href=\")#([^)\"]+)", svg))
    for parent in root.iter():
        parent.tag = parent.tag.rpartition("}")[2]
        for child in [child for child in parent if child.tag.endswith("metadata")]:
            parent.remove(child)
        attributes = {name.rpartition("}")[2]: value for name, value in parent.attrib.items()}
        if attributes.get("id") not in used:
            attributes.pop("id", None)
        parent.attrib.clear()
        parent.attrib.update(attributes)
    root.attrib.clear()
    width, height = (72 * inches for inches in _INCHES)
    root.attrib.update({"viewBox": f"0 0 {width:g} {height:g}", "role": "img", "aria-label": title})
    text = ElementTree.tostring(root, encoding="unicode")
    for colour, variable in _VARIABLES.items():
        text = text.replace(colour, variable)
    # Matplotlib wrote it and escaped its content.
    return Markup(text)
