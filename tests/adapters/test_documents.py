"""Documents converted in processes with limits: those of each format, and those that are made to harm."""

import io
import subprocess
import zipfile
from pathlib import Path

import pypandoc
import pytest
from markdown_it import MarkdownIt

from adapters.documents import convert
from adapters.limited_process import ProcessLimits
from schemas.errors import DocumentError
from stages.corpora.blocks import read_markdown
from stages.documents.outline import DocumentFormat, format_of
from tests.adapters.pdfs import GREEN, pages_of, pdf

LIMITS = ProcessLimits(60, 1500, 20)
MARKDOWN = """---
title: About tea
author: A. Leaf
---

# Leaves

Green tea is brewed *cool*.

## Kinds

| kind  | minutes |
|-------|---------|
| green | 2       |

- one
- two

```
boil()
```
"""


def written(form: str, tmp_path: Path, *more: str, markdown: str = MARKDOWN) -> bytes:
    """The example in a format, by pandoc itself."""
    target = tmp_path / f"tea.{form}"
    pandoc = Path(pypandoc.__file__).parent / "files/pandoc"
    subprocess.run([pandoc, "-f", "markdown", "-s", *more, "-o", target], input=markdown, text=True, check=True)
    return target.read_bytes()


@pytest.mark.parametrize("form", ["epub", "docx", "odt", "html", "rst"])
async def test_a_document_keeps_headings_tables_lists_and_code(form: str, tmp_path: Path) -> None:
    content = written(form, tmp_path, "--toc-depth=3")
    found = await convert(content, format_of(content, f"tea.{form}"), LIMITS)

    lines = found.markdown.splitlines()
    assert [one for one in lines if one.startswith("#")][-2:] == ["# Leaves", "## Kinds"]
    assert "Green tea is brewed *cool*." in lines
    assert any(one.startswith("| green") for one in lines)
    assert [one for one in lines if one.lstrip("- ") in ("one", "two")] != []
    assert "boil()" in found.markdown
    assert (found.format, found.converter.split()[0]) == (form, "pandoc")
    if form not in ("rst", "odt"):
        assert (found.title, found.authors) == ("About tea", "A. Leaf")
    if form == "epub":
        levels = {entry.title: entry.level for entry in found.toc}
        assert levels["Kinds"] == levels["Leaves"] + 1
    assert not found.markdown.startswith("---")


RICH = r"""# Brewing

+---------+------------+
| kind    | minutes    |
+=========+============+
| green   | two        |
|         |            |
|         | - or three |
|         | - or four  |
+---------+------------+
| white\  | `a  b`     |
| silver  |            |
+---------+------------+

: How long tea is brewed

The strength is $\frac{a}{b}$.

$$\frac{x}{y} + 1$$

```
if a | b:  # $5 and $6

    # no heading
```

![A kettle on a stove](FOLDER/kettle.gif)

The end.
"""


@pytest.mark.parametrize("form", ["epub", "docx", "html"])
async def test_cells_of_several_lines_formulas_code_and_descriptions_are_kept(form: str, tmp_path: Path) -> None:
    (tmp_path / "kettle.gif").write_bytes(b"GIF89a\1\0\1\0\0\0\0;")
    content = written(form, tmp_path, "--mathml", markdown=RICH.replace("FOLDER", str(tmp_path)))

    found = (await convert(content, format_of(content, f"tea.{form}"), LIMITS)).markdown

    assert [block.rows for block in read_markdown(found).blocks if block.rows] == [
        (("kind", "minutes"), ("green", "two or three or four"), ("white silver", "a b")),
        (("A kettle on a stove",),),
    ]
    tokens = MarkdownIt("commonmark").parse(found)
    code = [one.content.strip() for one in tokens if one.type in ("fence", "code_block")]
    assert code == [r"\frac{x}{y} + 1", "if a | b:  # $5 and $6\n\n    # no heading"]
    assert r"The strength is $`\frac{a}{b}`$." in found
    assert ": How long tea is brewed" in found.splitlines()


@pytest.mark.parametrize(
    ("content", "form", "problem"),
    [
        (b"%PDF-1.7 nonsense", DocumentFormat.PDF, "its PDF cannot be read"),
        (b"\xff\xfe", DocumentFormat.TEXT, "byte 0 is not UTF-8"),
        (b" \n", DocumentFormat.TEXT, "holds no text"),
        (b"<html><p> </p>", DocumentFormat.HTML, "holds no text"),
    ],
)
async def test_what_cannot_be_read_is_refused_with_the_reason(
    content: bytes, form: DocumentFormat, problem: str
) -> None:
    with pytest.raises(DocumentError, match=problem):
        await convert(content, form, LIMITS)


async def test_the_text_of_a_pdf_is_read_with_its_pages() -> None:
    found = await convert(pdf(text="Green tea is brewed cool in the morning."), DocumentFormat.PDF, LIMITS)
    assert found.markdown == "Green tea is brewed cool in the morning.\n"
    assert (found.pages, found.page_lines) == (1, (1,))


async def test_a_scan_is_refused_and_the_way_to_its_text_named() -> None:
    with pytest.raises(DocumentError, match="ocrmypdf"):
        await convert(pdf(text=""), DocumentFormat.PDF, LIMITS)


async def test_a_page_of_a_file_that_is_cut_off_is_damaged_where_its_contents_are_missing() -> None:
    whole = pages_of(GREEN, GREEN, GREEN)
    cut = whole[: whole.index(b"8 0 obj\n")]
    # The table of a file that was saved step by step is in its beginning too.
    for ending, page in ((b"trailer\n<< /Size 10 /Root 1 0 R >>\n", 3), (b"", None)):
        with pytest.raises(DocumentError, match=r"cut off|damaged") as error:
            await convert(cut + ending, DocumentFormat.PDF, LIMITS)
        assert error.value.page == page


async def test_an_archive_that_unpacks_to_too_much_is_refused_unread() -> None:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as bomb:
        bomb.writestr("word/document.xml", b" " * 100_000_000)
    with pytest.raises(DocumentError, match="100 MB unpacked"):
        await convert(content.getvalue(), DocumentFormat.DOCX, LIMITS)


async def test_a_document_that_is_made_to_be_slow_is_ended_at_its_limits() -> None:
    """Time and output have tests with programs of their own."""
    with pytest.raises(DocumentError, match="more than 120 MB of memory"):
        await convert(b"<html><body>" + b"<b>x " * 200_000, DocumentFormat.HTML, LIMITS._replace(memory_mb=120))


async def test_entities_of_other_files_are_not_read(tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("the secret")
    document = f'<!DOCTYPE html [<!ENTITY x SYSTEM "{secret.as_uri()}">]><html><body><p>a &x; b</p>'
    include = f"Title\n=====\n\nText.\n\n.. include:: {secret}\n"
    for content, form in ((document, DocumentFormat.HTML), (include, DocumentFormat.RST)):
        try:
            found = (await convert(content.encode(), form, LIMITS)).markdown
        except DocumentError as error:
            found = str(error)
        assert "the secret" not in found
