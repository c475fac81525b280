"""How pages are made: Jinja templates with everything escaped, and none of it cached."""

from importlib.resources import files
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import HTMLResponse
from starlette.templating import Jinja2Templates

_templates = Jinja2Templates(
    env=Environment(
        loader=FileSystemLoader(str(files("api") / "html")),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
)


def page(
    request: Request, template: str, *, status: int = 200, headers: dict[str, str] | None = None, **values: Any
) -> HTMLResponse:
    """A template of `html/` as a reply."""
    return _templates.TemplateResponse(request, template, values, status_code=status, headers=headers)
