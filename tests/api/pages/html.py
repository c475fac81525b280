"""Pages as a browser requests them, and their forms and text."""

import re
from html.parser import HTMLParser
from typing import Any

import httpx

HTML = {"Accept": "text/html"}


class Form(dict[str, str]):
    """The hidden and visible fields of a form with their values, by name; the last of a name counts."""

    action: str
    label: str
    """The label of its last button."""


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.forms: list[Form] = []
        self._form: Form | None = None
        self._area: str | None = None
        self._select: str | None = None
        self._in_button = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        if tag == "form":
            self._form = Form()
            self._form.action, self._form.label = found.get("action", ""), ""
            self.forms.append(self._form)
        if self._form is None:
            return
        if tag == "input" and (found.get("type") not in ("radio", "checkbox") or "checked" in found):
            self._form[found.get("name", "")] = found.get("value", "on")
        elif tag == "textarea":
            self._area = found["name"]
            self._form[self._area] = ""
        elif tag == "select":
            self._select = found["name"]
        elif tag == "option" and self._select and (self._select not in self._form or "selected" in found):
            self._form[self._select] = found.get("value", "")
        elif tag == "button":
            self._in_button = True
            self._form.label = ""

    def handle_data(self, data: str) -> None:
        if self._form is None:
            return
        if self._area is not None:
            self._form[self._area] += data
        if self._in_button:
            self._form.label += data

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self._form = None
        elif tag == "textarea":
            if self._form is not None and self._area is not None:
                self._form[self._area] = self._form[self._area].removeprefix("\n")
            self._area = None
        elif tag == "select":
            self._select = None
        elif tag == "button":
            self._in_button = False


def forms(page: httpx.Response) -> list[Form]:
    reader = _Reader()
    reader.feed(page.text)
    return reader.forms


def form(page: httpx.Response, action: str, label: str | None = None) -> Form:
    """The form of a page that posts to an address, the first of them or the one with this button."""
    return next(of for of in forms(page) if of.action == action and label in (None, of.label.strip()))


def words(page: httpx.Response) -> str:
    """A page without its tags, in one line."""
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", page.text))


async def see(client: httpx.AsyncClient, path: str, **params: Any) -> httpx.Response:
    return await client.get(path, headers=HTML, params=params or None)


async def send(client: httpx.AsyncClient, page: httpx.Response, action: str, **values: Any) -> httpx.Response:
    """The reply to a form of a page with these values; redirects are not followed."""
    return await client.post(action, headers=HTML, data={**form(page, action), **values})
