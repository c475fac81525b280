"""An ODT as pandoc reads it whole: `python -m adapters.odt_for_pandoc < tea.odt`, in a process of its own.

Pandoc forgets the styles of paragraphs, and finds a formula by one way of writing its address alone. Here paragraphs of
code become their text in hexadecimal digits after a mark, which `odt.lua` reads, and addresses are written that way.
Writes a line with the number of embedded objects, of which pandoc keeps the formulas that it can read, and then the
archive, without pictures. An archive that cannot be read is written as it is: pandoc says what is wrong with it.
"""

import io
import re
import sys
import zipfile
import zlib
from xml.etree import ElementTree

MARK = "ragq-code-"
_OASIS = "{urn:oasis:names:tc:opendocument:xmlns:%s:1.0}"
_STYLE, _TEXT, _DRAW = _OASIS % "style", _OASIS % "text", _OASIS % "drawing"
_HREF = "{http://www.w3.org/1999/xlink}href"
_MATH = b"http://www.w3.org/1998/Math/MathML"
_CODE = re.compile(r"preformatted|verbatim|source.?(?:code|text)|(?:^|[^a-z])code(?:$|[^a-z])", re.IGNORECASE)
_MOST_PARENTS = 20
_MOST_SPACES = 1000
_DAMAGED = (
    zipfile.BadZipFile,
    zlib.error,
    NotImplementedError,
    RuntimeError,
    OSError,
    EOFError,
    ValueError,
    KeyError,
    ElementTree.ParseError,
)


def main() -> None:
    """Read an ODT on stdin."""
    content = sys.stdin.buffer.read()
    try:
        objects, written = _rewritten(content)
    except _DAMAGED:
        objects, written = 0, content
    sys.stdout.buffer.write(b"%d\n" % objects + written)


def _rewritten(content: bytes) -> tuple[int, bytes]:
    written = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as archive, zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as copy:
        document = _parsed(archive.read("content.xml"))
        styles = ElementTree.fromstring(archive.read("styles.xml")) if "styles.xml" in archive.namelist() else None
        _mark_code(document, _parents([document, *([] if styles is None else [styles])]))
        objects = _name_formulas(document, archive)
        for entry in archive.infolist():
            is_read = entry.filename == "mimetype" or entry.filename.endswith((".xml", ".rdf"))
            if entry.filename == "content.xml":
                copy.writestr("content.xml", ElementTree.tostring(document, encoding="utf-8", xml_declaration=True))
            else:
                copy.writestr(entry.filename, archive.read(entry) if is_read else b"")
    return objects, written.getvalue()


def _parsed(text: bytes) -> ElementTree.Element:
    """The root, whose prefixes stay those of the file when it is written again."""
    for _, (prefix, address) in ElementTree.iterparse(io.BytesIO(text), events=("start-ns",)):
        if not re.fullmatch(r"ns\d+", prefix):
            ElementTree.register_namespace(prefix, address)
    return ElementTree.fromstring(text)


def _parents(roots: list[ElementTree.Element]) -> dict[str, str]:
    """The style that each style of paragraphs follows, by name."""
    return {
        style.get(f"{_STYLE}name", ""): style.get(f"{_STYLE}parent-style-name", "")
        for root in reversed(roots)
        for style in root.iter(f"{_STYLE}style")
        if style.get(f"{_STYLE}family") == "paragraph"
    }


def _is_code(style: str, parents: dict[str, str]) -> bool:
    for _ in range(_MOST_PARENTS):
        if _CODE.search(style.replace("_20_", " ")):
            return True
        style = parents.get(style, "")
    return False


def _mark_code(document: ElementTree.Element, parents: dict[str, str]) -> None:
    for paragraph in list(document.iter(f"{_TEXT}p")):
        if not _is_code(paragraph.get(f"{_TEXT}style-name", ""), parents):
            continue
        if paragraph.find(f".//{_DRAW}frame") is not None or paragraph.find(f".//{_TEXT}note") is not None:
            continue
        text = _text_of(paragraph)
        tail, attributes = paragraph.tail, dict(paragraph.attrib)
        paragraph.clear()
        paragraph.tail = tail
        paragraph.attrib.update(attributes)
        paragraph.text = MARK + text.encode("utf-8", "replace").hex()


def _text_of(element: ElementTree.Element) -> str:
    text = element.text or ""
    for child in element:
        match child.tag.removeprefix(_TEXT):
            case "s":
                written = child.get(f"{_TEXT}c", "1")
                text += " " * min(_MOST_SPACES, int(written) if written.isdecimal() else 1)
            case "tab":
                text += "\t"
            case "line-break":
                text += "\n"
            case _:
                text += _text_of(child)
        text += child.tail or ""
    return text


def _name_formulas(document: ElementTree.Element, archive: zipfile.ZipFile) -> int:
    """Write the addresses of formulas as pandoc looks for them. How many objects there are."""
    named = set(archive.namelist())
    objects = 0
    for embedded in document.iter(f"{_DRAW}object"):
        folder = embedded.get(_HREF, "").removeprefix("./").rstrip("/")
        if f"{folder}/content.xml" in named and _MATH in archive.read(f"{folder}/content.xml")[:2000]:
            embedded.set(_HREF, f"./{folder}")
        objects += 1
    return objects


if __name__ == "__main__":
    main()
