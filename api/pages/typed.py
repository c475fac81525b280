"""What people type into forms."""

from typing import Annotated

from pydantic import AfterValidator, Field

Typed = Annotated[str, AfterValidator(lambda text: text.replace("\r\n", "\n")), Field(repr=False)]
"""A text of several lines: browsers send their ends as two characters."""
