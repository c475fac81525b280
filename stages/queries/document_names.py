"""The name of a work in relevance judgements."""

from pathlib import PurePath

_MARKDOWN = (".md", ".markdown")


def document_name(source_path: str | None, title: str) -> str:
    """The name of the file that a work was imported from, without a markdown suffix; its title if there is no file.

    >>> document_name("/data/scifact/31715818.md", "Biomaterials"), document_name(None, "Biomaterials")
    ('31715818', 'Biomaterials')
    """
    if source_path is None:
        return title
    name = PurePath(source_path)
    return name.stem if name.suffix.lower() in _MARKDOWN else name.name
