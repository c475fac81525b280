"""Two texts compared line by line."""

import time

from stages.texts.line_diff import DiffLine, Hunk, line_diff


def shown(hunk: Hunk) -> list[str]:
    """The lines of a hunk with a sign, and brackets around changed words."""
    return [_shown(line) for line in hunk.lines]


def _shown(line: DiffLine) -> str:
    words = "".join(f"[{piece.text}]" if piece.is_changed else piece.text for piece in line.pieces)
    return {"both": " ", "old": "-", "new": "+"}[line.side] + words


def test_a_changed_line_has_its_changed_words_marked() -> None:
    (hunk,) = line_diff("Ask {n} times about {query}.\n", "Ask {n} times, briefly, about {query}.\n")

    assert shown(hunk) == ["-Ask {n} times about {query}.", "+Ask {n} times[, briefly,] about {query}."]


def test_equal_lines_far_from_a_change_are_counted() -> None:
    old = [str(n) for n in range(20)]
    new = [*old[:1], "new", *old[1:15], *old[16:]]

    first, second = line_diff("\n".join(old), "\n".join(new))

    assert (first.skipped, shown(first)) == (0, [" 0", "+new", " 1", " 2", " 3"])
    assert (second.skipped, shown(second)) == (8, [" 12", " 13", " 14", "-15", " 16", " 17", " 18"])
    assert [(line.old, line.new) for line in second.lines[2:5]] == [(15, 16), (16, None), (17, 17)]


def test_very_long_texts_are_compared_at_once() -> None:
    old = "\n".join(f"{n % 7} {n % 11}" for n in range(20_000))
    started = time.process_time()

    (hunk,) = line_diff(old, old + "\nend")
    (line,) = line_diff("a b " * 20_000, "b c " * 20_000)

    assert (len(hunk.lines), len(line.lines)) == (40_001, 2)
    # A comparison of every pair of lines or words would take many minutes.
    assert time.process_time() - started < 20
