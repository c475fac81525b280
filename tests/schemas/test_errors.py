"""The tree of errors at the head of their module."""

import re
from collections.abc import Iterator

from schemas import errors


def tree_of(error: type[errors.RagqError], depth: int = 0) -> Iterator[str]:
    """The lines for a class and its subclasses, as they are defined: below the first base, with the other bases."""
    yield "    " * depth + error.__name__ + "".join(f"  ({base.__name__})" for base in error.__bases__[1:])
    for subclass in error.__subclasses__():
        if subclass.__module__ == errors.__name__ and subclass.__base__ is error:
            yield from tree_of(subclass, depth + 1)


def test_the_tree_in_the_docstring_is_that_of_the_classes() -> None:
    assert errors.__doc__ is not None
    lines = re.findall(r"^ *[A-Z]\w*(?:  \(\w+\))?(?=$|  )", errors.__doc__.split("\n\n")[1], re.MULTILINE)
    assert lines == list(tree_of(errors.RagqError))
