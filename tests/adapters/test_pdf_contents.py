"""Pages of which nothing is read: blank ones, and those whose contents are damaged."""

import zlib

import pytest

from adapters.documents import convert
from adapters.limited_process import ProcessLimits
from schemas.errors import DocumentError
from stages.documents.outline import DocumentFormat
from tests.adapters.pdfs import GREEN, pages_of_streams

LIMITS = ProcessLimits(60, 1500, 20)
FLATE = "/Filter /FlateDecode"
TEXT = (GREEN.encode(), "")
PACKED = zlib.compress(GREEN.encode())

DAMAGED = {
    "no operators": (b")( >> BT /F9 Tf ] [ (((", ""),
    "cut off": (GREEN[:40].encode(), ""),
    "other bytes at its beginning": (b"\xff" * 10 + PACKED[10:], FLATE),
    "other bytes within": (PACKED[:20] + b"\xff" * 3 + PACKED[23:], FLATE),
    "packed and cut off": (PACKED[: len(PACKED) // 2], FLATE),
    "a filter that is none": (PACKED, "/Filter /None"),
    "a picture that is missing": (b"q 9 0 0 9 0 0 cm /Im1 Do Q", ""),
}


@pytest.mark.parametrize("stream", DAMAGED.values(), ids=DAMAGED)
async def test_a_page_whose_contents_are_damaged_fails_with_its_number(stream: tuple[bytes, str]) -> None:
    content = pages_of_streams([TEXT, TEXT, stream, TEXT])
    with pytest.raises(DocumentError, match="at page 3 its contents are damaged; get the file again, or") as error:
        await convert(content, DocumentFormat.PDF, LIMITS)
    assert error.value.page == 3
    assert "(qpdf in.pdf --pages . 1-2,4 -- out.pdf)" in str(error.value)


async def test_every_damaged_page_is_left_out_by_the_remedy() -> None:
    bad = DAMAGED["packed and cut off"]
    with pytest.raises(DocumentError, match=r"at page 1 .*\(and at 1 more\).* --pages \. 2-3,5 --"):
        await convert(pages_of_streams([bad, TEXT, TEXT, bad, TEXT]), DocumentFormat.PDF, LIMITS)
    with pytest.raises(DocumentError, match=r"damaged; get the file again\.$"):
        await convert(pages_of_streams([bad]), DocumentFormat.PDF, LIMITS)


async def test_a_page_of_a_file_that_is_cut_off_is_damaged_where_its_contents_are_missing() -> None:
    whole = pages_of_streams([TEXT, TEXT, TEXT])
    cut = whole[: whole.index(b"8 0 obj\n")]
    # The table of a file that was saved step by step is in its beginning too.
    for ending, page in ((b"trailer\n<< /Size 10 /Root 1 0 R >>\n", 3), (b"", None)):
        with pytest.raises(DocumentError, match="damaged") as error:
            await convert(cut + ending, DocumentFormat.PDF, LIMITS)
        assert error.value.page == page
