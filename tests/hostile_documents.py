"""More than a hundred documents that are broken or made to harm, and what becomes of each."""

import io
import random
import re
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final, NamedTuple

from tests.adapters.pdfs import FONT, pdf

TEXT: Final = "Green tea is brewed with cooler water than black tea."
NOTHING: Final[Mapping[str, bytes]] = MappingProxyType({})
UNCHANGED: Final[Mapping[int, str]] = MappingProxyType({})
_MIMETYPES: Final = {"epub": "application/epub+zip", "odt": "application/vnd.oasis.opendocument.text"}
_WORD: Final = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_RELATIONS: Final = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_OFFICE: Final = "urn:oasis:names:tc:opendocument:xmlns"
_LAUGHS: Final = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10))
_BILLION: Final = f'<!DOCTYPE x [<!ENTITY l0 "ha">{_LAUGHS}]>'
_EXTERNAL: Final = '<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]>'
_FONTS: Final = "/Resources << /Font << /F1 4 0 R >> >>"


class Hostile(NamedTuple):
    """A file, and what its error matches. An empty pattern stands for a document that may as well be read; None for one
    that has to be."""

    name: str
    content: bytes
    error: str | None


def hostile_documents() -> list[Hostile]:
    """All of them, the same in every call. No two have the same text."""
    made = [*_of_wrong_kinds(), *_texts(), *_pages(), *_archives(), *_pdfs()]
    return [one._replace(name=f"{number:03} {one.name}") for number, one in enumerate(made)]


def _text(number: int) -> str:
    return f"{TEXT} This is cup {number}."


def _of_wrong_kinds() -> Iterator[Hostile]:
    """Contents that are not what their names say."""
    for suffix in ("pdf", "epub", "docx", "odt", "html", "rst", "txt"):
        is_text = suffix in ("html", "rst", "txt")
        yield Hostile(f"empty.{suffix}", b"", "is empty")
        yield Hostile(f"nul.{suffix}", b"tea\0tea", "its format is none of those")
        if not is_text:
            yield Hostile(f"text.{suffix}", TEXT.encode(), "named as")
    yield Hostile("picture.pdf", b"\x89PNG\r\n\x1a\n" + bytes(100), "its format is none of those")
    yield Hostile("program.txt", b"\x7fELF" + bytes(100), "its format is none of those")
    yield Hostile("page as.txt", f"<html><p>{_text(1)}".encode(), None)
    yield Hostile("pdf as.txt", _pdf(_text(2)), None)
    yield Hostile("old word.docx", bytes.fromhex("d0cf11e0a1b11ae1") + bytes(500), "its format is none of those")
    yield Hostile("pdf and archive.pdf", _pdf(_text(3)) + _archive({"mimetype": _MIMETYPES["epub"]}), "")


def _texts() -> Iterator[Hostile]:
    yield Hostile("spaces.txt", b" \n\t " * 1000, "no text")
    yield Hostile("latin 1.txt", "Gr\xfcner Tee".encode("latin-1"), "not UTF-8")
    yield Hostile("koi8.txt", "Зелёный чай".encode("koi8-r"), "not UTF-8")
    yield Hostile("utf 16.txt", "Green tea".encode("utf-16"), "its format is none of those")
    yield Hostile("half a character.txt", TEXT.encode() + b"\xe4\xb8", "not UTF-8")
    yield Hostile("surrogate.txt", TEXT.encode() + b"\xed\xa0\x80", "not UTF-8")
    yield Hostile("one line.txt", b"Leaves of tea. " * 10_000, None)
    yield Hostile("no space.txt", b"tea" * 60_000, None)
    yield Hostile("quotes.txt", b">" * 20_000 + b" tea", "")
    yield Hostile("lists.txt", "".join(" " * n + "- tea\n" for n in range(300)).encode(), None)
    yield Hostile("stars.txt", b"*a_ " * 20_000, None)
    yield Hostile("front matter.txt", b"---\ntitle: [tea\n---\n" + TEXT.encode(), "front matter")
    yield Hostile("aliases.txt", b"---\na: &a [x,x]\ntitle: [*a,*a]\n---\n" + TEXT.encode(), "front matter")
    yield Hostile("controls.txt", "".join(map(chr, range(1, 32))).encode() + _text(4).encode(), None)
    yield Hostile("right to left.txt", f"\u202e{_text(5)}\u2066".encode(), None)
    yield Hostile("include.rst", f"Tea\n===\n\n{_text(6)}\n\n.. include:: /etc/passwd\n".encode(), "")
    yield Hostile("raw.rst", f"Tea\n===\n\n{_text(7)}\n\n.. raw:: html\n   :file: /etc/passwd\n".encode(), "")
    yield Hostile("table.rst", b"=== ===\na b\n=== \n\n" + _text(8).encode(), "")
    yield Hostile("substitution.rst", f"Tea\n===\n\n{_text(9)} |a|\n\n.. |a| replace:: |a| |a|\n".encode(), "")


def _pages() -> Iterator[Hostile]:
    def page(inside: str) -> bytes:
        return f"<!DOCTYPE html><html><head><title>t</title></head><body>{inside}".encode()

    yield Hostile("deep.html", page("<div>" * 2_000 + _text(10)), "")
    yield Hostile("bold.html", page("<b>x " * 300_000), "takes more than")
    yield Hostile("table.html", page("<table>" * 300 + _text(11)), "")
    yield Hostile("no end.html", page("<p title='" + "a" * 100_000), "no text")
    yield Hostile("script.html", page(f"<script>{'x' * 1000}</script><p>{_text(12)}"), None)
    yield Hostile("only script.html", page("<script>alert(1)</script>"), "no text")
    yield Hostile("entities.html", f"{_BILLION}<html><body><p>&l9; {_text(13)}".encode(), "")
    yield Hostile("external.html", f"{_EXTERNAL}<html><body><p>&e; {_text(14)}".encode(), "")
    yield Hostile("references.html", page(f"<p>&#0;&#xD800;&#x110000;&#xFFFFFFFFF; {_text(15)}"), None)
    yield Hostile("data.html", page(f"<img src='data:image/png;base64,{'A' * 100_000}'><p>{_text(16)}"), None)
    linked = "<link href='http://127.0.0.1:9/a.css'><iframe src='file:///etc/passwd'></iframe>"
    yield Hostile("linked.html", page(f"{linked}<p>{_text(17)}"), "")
    yield Hostile("attributes.html", page(f"<p {' '.join(f'a{n}=1' for n in range(20_000))}>{_text(18)}"), "")
    yield Hostile("title.html", f"<html><head><title>{'t' * 5_000}</title></head><p>{_text(19)}".encode(), None)
    yield Hostile("bytes.html", b"<html><body><p>\xff\xfe\xfd" + _text(20).encode(), "")


def _archives() -> Iterator[Hostile]:
    yield Hostile("not office.docx", _archive({"a.txt": "tea"}), "neither EPUB")
    for number, (suffix, made) in enumerate((("epub", _epub), ("docx", _docx), ("odt", _odt)), start=1):

        def body(place: int, inside: str = "", number: int = number) -> str:
            return f"<p>{inside}{_text(10 * place + number)}</p>"

        sound = made(body(3))
        yield Hostile(f"sound.{suffix}", sound, None)
        yield Hostile(f"cut off.{suffix}", sound[: len(sound) // 2], "damaged")
        yield Hostile(f"head.{suffix}", sound[:4], "damaged")
        yield Hostile(f"bomb.{suffix}", made(body(4), more={"bomb": b"\0" * 30_000_000}), "unpacked")
        yield Hostile(f"text bomb.{suffix}", made("<p>tea </p>" * 1_500_000), "takes|unpacked")
        yield Hostile(f"wrong sizes.{suffix}", _of_wrong_sizes(made(body(5) * 100)), "")
        yield Hostile(f"laughs.{suffix}", made(body(6, "&l9; "), doctype=_BILLION), "")
        yield Hostile(f"external.{suffix}", made(body(7, "&e; "), doctype=_EXTERNAL), "")
        yield Hostile(f"outside.{suffix}", made(body(8), more={"../../../tmp/ragq-outside": b"x"}), "")
        yield Hostile(f"twice.{suffix}", made(body(9), twice=True), "")
        yield Hostile(f"nested.{suffix}", made(body(10), more={"in.zip": _nested(6)}), "")
        yield Hostile(f"encrypted.{suffix}", _said_encrypted(sound), "")
        yield Hostile(f"not xml.{suffix}", made("<p><<<"), "cannot be read|no text")
        yield Hostile(f"noise.{suffix}", _noisy(sound), "")
        yield Hostile(f"no text.{suffix}", made("<p></p>"), "no text")
    yield Hostile("no container.epub", _archive({"mimetype": _MIMETYPES["epub"], "a.html": TEXT}), "cannot be read")


def _pdfs() -> Iterator[Hostile]:
    sound = _pdf(_text(201))
    yield Hostile("sound.pdf", sound, None)
    yield Hostile("scan.pdf", _pdf(""), "ocrmypdf")
    yield Hostile("only head.pdf", b"%PDF-1.7\n", "cannot be read")
    yield Hostile("cut off.pdf", sound[:200], "cannot be read")
    yield Hostile("noise.pdf", _noisy(sound), "")
    yield Hostile("encrypted.pdf", _pdf(_text(202), encrypted=True), "encrypted")
    pages = "<< /Type /Pages /Kids [{}] /Count {} >>"
    yield Hostile("cycle.pdf", _pdf(_text(203), change={2: pages.format("2 0 R 2 0 R", 2)}), "page 1|ocrmypdf")
    yield Hostile("many.pdf", _pdf(_text(204), change={2: pages.format("3 0 R", 999999999)}), "")
    yield Hostile("negative.pdf", _pdf(_text(205), change={2: pages.format("3 0 R", -5)}), "")
    yield Hostile("missing page.pdf", _pdf(_text(206), change={2: pages.format("3 0 R 99 0 R", 2)}), "page 2")
    page = "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 {0} {0}] /Contents 5 0 R {1} >>"
    yield Hostile("huge page.pdf", _pdf(_text(207), change={3: page.format("1e30", _FONTS)}), "")
    yield Hostile("no page size.pdf", _pdf(_text(208), change={3: page.format("0", _FONTS)}), "")
    font = "<< /Type /Font /Subtype {} /BaseFont /Helvetica {} >>"
    loop = font.format("/Type0", "/DescendantFonts [4 0 R] /ToUnicode 4 0 R")
    yield Hostile("font loop.pdf", _pdf(_text(209), change={4: loop}), "ocrmypdf|cannot be read")
    yield Hostile("no font.pdf", _pdf(_text(210), change={4: "null"}), "")
    halves = "/CIDInit /ProcSet findresource begin begincmap 1 beginbfrange <00> <68> <D800> endbfrange endcmap end"
    mapped = font.format("/Type1", "/ToUnicode 6 0 R")
    stream = f"<< /Length {len(halves)} >>\nstream\n{halves}\nendstream"
    yield Hostile("surrogates.pdf", _pdf(_text(211), change={4: mapped}, more=[stream]), "")
    yield Hostile("deep.pdf", _pdf(_text(212), more=["[" * 20_000 + "]" * 20_000]), "")
    letters = b"BT /F1 9 Tf 9 9 Td (tea) Tj ET\n"
    yield Hostile("stream bomb.pdf", _pdf(_text(213), stream=zlib.compress(letters * 150_000)), "")
    outline = ["<< /Type /Outlines /First 7 0 R /Last 7 0 R /Count 1 >>", "<< /Title (tea) /Next 7 0 R /First 7 0 R >>"]
    root = "<< /Type /Catalog /Pages 2 0 R {} >>"
    yield Hostile("outline loop.pdf", _pdf(_text(214), change={1: root.format("/Outlines 6 0 R")}, more=outline), "")
    script = "/OpenAction << /S /JavaScript /JS (app.alert\\(1\\)) >>"
    yield Hostile("script.pdf", _pdf(_text(215), change={1: root.format(script)}), None)


def _archive(entries: Mapping[str, str | bytes]) -> bytes:
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in entries.items():
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    return written.getvalue()


def _packed(entries: Mapping[str, str | bytes], more: Mapping[str, bytes], *, twice: bool) -> bytes:
    if not twice:
        return _archive({**entries, **more})
    last = list(entries)[-1]
    # zipfile warns of a second entry of one name: the entry gets that name afterwards.
    other = "x" * len(last)
    return _archive({**entries, **more, other: "<x/>"}).replace(other.encode(), last.encode())


def _epub(body: str, *, doctype: str = "", more: Mapping[str, bytes] = NOTHING, twice: bool = False) -> bytes:
    opf = (
        '<package xmlns="http://www.idpf.org/2007/opf" version="2.0" unique-identifier="i"><metadata '
        'xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>Tea</dc:title><dc:identifier id="i">1</dc:identifier>'
        '</metadata><manifest><item id="a" href="a.xhtml" media-type="application/xhtml+xml"/></manifest>'
        '<spine><itemref idref="a"/></spine></package>'
    )
    entries = {
        "mimetype": _MIMETYPES["epub"],
        "META-INF/container.xml": '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container" version="1.0">'
        '<rootfiles><rootfile full-path="a.opf" media-type="application/oebps-package+xml"/></rootfiles></container>',
        "a.opf": opf,
        "a.xhtml": f'{doctype}<html xmlns="http://www.w3.org/1999/xhtml"><body>{body}</body></html>',
    }
    return _packed(entries, more, twice=twice)


def _docx(body: str, *, doctype: str = "", more: Mapping[str, bytes] = NOTHING, twice: bool = False) -> bytes:
    inside = body.replace("<p>", "<w:p><w:r><w:t>").replace("</p>", "</w:t></w:r></w:p>")
    relation = f'Id="r" Type="{_RELATIONS}/officeDocument" Target="word/document.xml"'
    package = "http://schemas.openxmlformats.org/package/2006"
    entries = {
        "[Content_Types].xml": f'<Types xmlns="{package}/content-types"/>',
        "_rels/.rels": f'<Relationships xmlns="{package}/relationships"><Relationship {relation}/></Relationships>',
        "word/document.xml": f'{doctype}<w:document xmlns:w="{_WORD}"><w:body>{inside}</w:body></w:document>',
    }
    return _packed(entries, more, twice=twice)


def _odt(body: str, *, doctype: str = "", more: Mapping[str, bytes] = NOTHING, twice: bool = False) -> bytes:
    inside = body.replace("<p>", "<text:p>").replace("</p>", "</text:p>")
    spaces = " ".join(f'xmlns:{name}="{_OFFICE}:{name}:1.0"' for name in ("office", "text", "style"))
    entries = {
        "mimetype": _MIMETYPES["odt"],
        "styles.xml": f"<office:document-styles {spaces}><office:styles/></office:document-styles>",
        "content.xml": f"{doctype}<office:document-content {spaces}><office:body><office:text>{inside}</office:text>"
        "</office:body></office:document-content>",
    }
    return _packed(entries, more, twice=twice)


def _nested(depth: int) -> bytes:
    content = b"\0" * 1_000_000
    for _ in range(depth):
        content = _archive({str(number): content for number in range(4)})
    return content


def _of_wrong_sizes(archive: bytes) -> bytes:
    """The directory has one byte as the unpacked size of every entry."""
    changed = bytearray(archive)
    for start in _places(archive, b"PK\x01\x02"):
        changed[start + 24 : start + 28] = struct.pack("<I", 1)
    return bytes(changed)


def _said_encrypted(archive: bytes) -> bytes:
    """Every entry has the flag of encrypted ones."""
    changed = bytearray(archive)
    for mark, flags in ((b"PK\x01\x02", 8), (b"PK\x03\x04", 6)):
        for start in _places(archive, mark):
            changed[start + flags] |= 1
    return bytes(changed)


def _places(content: bytes, mark: bytes) -> list[int]:
    return [found.start() for found in re.finditer(re.escape(mark), content)]


def _noisy(content: bytes) -> bytes:
    changed, chance = bytearray(content), random.Random(7)
    for _ in range(len(content) // 50):
        changed[chance.randrange(8, len(content))] = chance.randrange(256)
    return bytes(changed)


def _pdf(
    text: str,
    *,
    change: Mapping[int, str] = UNCHANGED,
    more: Sequence[str] = (),
    encrypted: bool = False,
    stream: bytes | None = None,
) -> bytes:
    """A PDF of one page with a line of text, or with a compressed content."""
    line = f"BT /F1 12 Tf 72 700 Td ({text}) Tj ET".encode() if stream is None else stream
    head = f"<< /Length {len(line)}{'' if stream is None else ' /Filter /FlateDecode'} >>\nstream\n"
    objects = {
        1: b"<< /Type /Catalog /Pages 2 0 R >>",
        2: b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        3: f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 5 0 R {_FONTS} >>".encode(),
        4: FONT,
        5: head.encode() + line + b"\nendstream",
        **{number: one.encode() for number, one in enumerate(more, start=6)},
        **{number: one.encode() for number, one in change.items()},
    }
    lock = f" /Encrypt << /Filter /Standard /V 1 /R 2 /P -4 /O ({'o' * 32}) /U ({'u' * 32}) >> /ID [(i) (i)]"
    return pdf(objects, trailer=lock if encrypted else "")
