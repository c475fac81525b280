"""Plots as SVG: inside a page it takes its colours from the page, as a file it is light or dark as the reader is.

The same plot gives the same bytes.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from io import StringIO
from typing import Any, Final
from xml.etree import ElementTree

from markupsafe import Markup
from matplotlib import style
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from schemas.values.metrics import Interval

# Placeholders for the colours of the page, replaced when the SVG is written.
INK, GRID, FIRST, SECOND, MUTED = "#010101", "#020202", "#030303", "#040404", "#050505"
_VARIABLES: Final = {
    INK: "var(--ink)",
    GRID: "var(--line)",
    FIRST: "var(--first)",
    SECOND: "var(--second)",
    MUTED: "var(--muted)",
}

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
