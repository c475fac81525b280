"""A transcript in overlapping windows of lines: the chunks of the reference index."""


def chunk_transcript(text: str, *, size: int, step: int, min_chars: int) -> tuple[str, ...]:
    """The windows of `size` lines, each `step` lines after the one before, in order.

    Blank lines at the end do not count. Remaining lines get a last window that ends with the text, unless a window with
    the same text exists. Windows with fewer than `min_chars` characters, not counting white space around them, are
    dropped. Raises ValueError for windows that would skip lines.
    """
    lines = text.split("\n")
    while lines and not lines[-1].strip():
        lines.pop()
    windows: list[str] = []
    for start in window_starts(len(lines), size=size, step=step):
        window = "\n".join(lines[start : start + size])
        is_left_over = start % step != 0
        if not (is_left_over and window in windows):
            windows.append(window)
    return tuple(window for window in windows if len(window.strip()) >= min_chars)


def window_starts(lines: int, *, size: int, step: int) -> list[int]:
    """The starts of the windows over this many lines, from 0; none without lines.

    >>> window_starts(13, size=8, step=2)
    [0, 2, 4, 5]
    """
    if size < 2 or not 1 <= step <= size:
        raise ValueError(
            f"Windows of {size} lines every {step} are not possible; size >= 2 and 1 <= step <= size are required."
        )
    if lines <= size:
        return [0] if lines else []
    last = lines - size
    starts = list(range(0, last + 1, step))
    return starts if starts[-1] == last else [*starts, last]
