"""A small corpus: three works, whose chunks are shorter than the filters of the default preset allow."""

from pathlib import Path

QUESTION = "Why does black tea turn dark?"

#: The works of the shelf are short: nothing is filtered or dropped for its length.
SHORT = (
    *("--set", "retrieval.min_word_count=0", "--set", "retrieval.min_char_count=0"),
    *("--set", "consolidation.min_content_length=0", "--set", "expansion.n=1"),
)

TEA = """\
---
title: On Tea
authors: A. Leaf
year: 2019
---

# Tea

Tea is a drink made by pouring hot water over the leaves of one shrub.

## Oxidation

After picking, the leaves of black tea are rolled and left in moist air. Enzymes in the bruised leaf join oxygen to the
catechins and turn them into larger, darker molecules. The leaf goes from green to copper and then to brown. Heat ends
this work, which is why green tea is heated at once and stays green.

## Steeping

Water just off the boil draws the colour and the bitterness out within four minutes. Longer steeping adds tannin.
"""

BRIDGES = """\
# Bridges

A bridge carries a road over water or a valley.

## Arches

An arch of stone carries its load by pressing every stone against its neighbour, so that nothing is pulled apart.

## Suspension

Cables over two towers carry the deck; the anchors at both ends are pulled and have to hold.
"""

CLOCKS = """\
# Clocks

A clock counts a motion that repeats itself.

## Pendulums

The longer a pendulum is, the slower it swings; its weight makes no difference.
"""


def write_shelf(folder: Path) -> Path:
    folder.mkdir()
    for name, text in (("tea", TEA), ("bridges", BRIDGES), ("clocks", CLOCKS)):
        (folder / f"{name}.md").write_text(text)
    return folder
