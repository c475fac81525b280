"""Text fields of forms."""

from typing import Annotated

from pydantic import AfterValidator, Field

Typed = Annotated[str, AfterValidator(lambda text: text.replace("\r\n", "\n")), Field(repr=False)]
"""A text of several lines, with LF for the CRLF that browsers send."""
