"""Documents of each format, converted in processes with limits."""

import asyncio
import subprocess
import sys
from pathlib import Path

import pypandoc
import pytest
from markdown_it import MarkdownIt

from adapters.documents import convert
from adapters.limited_process import ProcessLimits, run_limited
from schemas.errors import DocumentError
from stages.corpora.blocks import read_markdown
from stages.documents.outline import DocumentFormat, format_of
from tests.adapters.pdfs import pages_of

LIMITS = ProcessLimits(60, 1500, 20)
GREEN = "Green tea is brewed cool in the morning."
MARKDOWN = r"""---
title: About tea
author: A. Leaf
---

# Leaves

Green tea is brewed *cool*.

## Kinds

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

- one
- two

The strength is $\frac{a}{b}$.

$$\frac{x}{y} + 1$$

```
if a | b:  # $5 and $6

    # no heading
```

![A kettle on a stove](FOLDER/kettle.gif)

The end.
"""
TABLE = (("kind", "minutes"), ("green", "two or three or four"), ("white silver", "a b"))


def written(form: str, folder: Path) -> bytes:
    """The example in a format, by pandoc itself."""
    (folder / "kettle.gif").write_bytes(b"GIF89a\1\0\1\0\0\0\0;")
    target = folder / f"tea.{form}"
    pandoc = Path(pypandoc.__file__).parent / "files/pandoc"
    markdown = MARKDOWN.replace("FOLDER", str(folder))
    subprocess.run([pandoc, "-f", "markdown", "-s", "--mathml", "-o", target], input=markdown, text=True, check=True)
    return target.read_bytes()


@pytest.mark.parametrize("form", ["epub", "docx", "odt", "html", "rst"])
async def test_documents_keep_headings_tables_lists_formulas_code_and_descriptions(form: str, tmp_path: Path) -> None:
    content = written(form, tmp_path)
    found = await convert(content, format_of(content, f"tea.{form}"), LIMITS)

    lines = found.markdown.splitlines()
    assert (found.format, found.converter.split()[0]) == (form, "pandoc")
    assert [one for one in lines if one.startswith("#")][-2:] == ["# Leaves", "## Kinds"]
    assert "Green tea is brewed *cool*." in lines
    assert {"one", "two"} <= {one.lstrip("- ") for one in lines}
    assert not found.markdown.startswith("---")
    tables = [block.rows for block in read_markdown(found.markdown).blocks if block.rows]
    tokens = MarkdownIt("commonmark").parse(found.markdown)
    code = [one.content.strip() for one in tokens if one.type in ("fence", "code_block")]
    assert tables[0] == TABLE
    assert "no heading" in found.markdown
    if form not in ("rst", "odt"):
        assert (found.title, found.authors) == ("About tea", "A. Leaf")
        assert tables[1:] == [(("A kettle on a stove",),)]
        assert code == [r"\frac{x}{y} + 1", "if a | b:  # $5 and $6\n\n    # no heading"]
        assert r"The strength is $`\frac{a}{b}`$." in lines
        assert ": How long tea is brewed" in lines


async def test_the_text_of_a_pdf_is_read_with_its_pages() -> None:
    found = await convert(pages_of(GREEN), DocumentFormat.PDF, LIMITS)
    assert (found.markdown, found.pages, found.page_lines) == (f"{GREEN}\n", 1, (1,))


async def test_a_page_of_a_file_that_is_cut_off_is_damaged_where_its_contents_are_missing() -> None:
    whole = pages_of(GREEN, GREEN, GREEN)
    cut = whole[: whole.index(b"8 0 obj\n")]
    # The table of a file that was saved step by step is in its beginning too.
    for ending, page in ((b"trailer\n<< /Size 10 /Root 1 0 R >>\n", 3), (b"", None)):
        with pytest.raises(DocumentError, match=r"cut off|damaged") as error:
            await convert(cut + ending, DocumentFormat.PDF, LIMITS)
        assert error.value.page == page


async def test_a_document_that_is_made_to_be_slow_is_ended_at_its_limit_of_memory() -> None:
    with pytest.raises(DocumentError, match="more than 120 MB of memory"):
        await convert(b"<html><body>" + b"<b>x " * 200_000, DocumentFormat.HTML, LIMITS._replace(memory_mb=120))


#: Two processes without an end, of which only the first is the one that was started.
WRITES = "import os, sys\nos.fork()\nwhile True: sys.stdout.write('x' * 65536)"
SLEEPS = "import os, time\nos.fork()\nwhile True: time.sleep(9)"


@pytest.mark.parametrize(
    ("program", "seconds", "problem"), [(WRITES, 30, "more than 1 MB as text"), (SLEEPS, 1, "more than 1 s")]
)
async def test_a_program_and_what_it_started_are_ended_at_a_limit(program: str, seconds: float, problem: str) -> None:
    with pytest.raises(DocumentError, match=f"it takes {problem}; split it"):
        async with asyncio.timeout(20):
            await run_limited([sys.executable, "-c", program], b"", ProcessLimits(seconds, memory_mb=500, output_mb=1))
