"""Pages as a browser requests them, and their forms and text."""

import re
from html import unescape
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
        self._open: dict[str, str] = {}
        """The select, text area and button that are open, with their names."""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        name = found.get("name", "")
        if tag == "form":
            self._form = Form()
            self._form.action, self._form.label = found.get("action", ""), ""
            self.forms.append(self._form)
        if self._form is None:
            return
        if tag in ("select", "textarea", "button"):
            self._open[tag] = name
        if tag == "input" and (found.get("type") not in ("radio", "checkbox") or "checked" in found):
            self._form[name] = found.get("value", "on")
        elif tag == "textarea":
            self._form[name] = ""
        elif tag == "button":
            self._form.label = ""
        elif (
            tag == "option"
            and (select := self._open.get("select"))
            and (select not in self._form or "selected" in found)
        ):
            self._form[select] = found.get("value", "")

    def handle_data(self, data: str) -> None:
        if self._form is not None and "textarea" in self._open:
            self._form[self._open["textarea"]] += data
        if self._form is not None and "button" in self._open:
            self._form.label += data

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self._form = None
        elif tag == "textarea" and self._form is not None and tag in self._open:
            self._form[self._open[tag]] = self._form[self._open[tag]].removeprefix("\n")
        self._open.pop(tag, None)


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


def lines(page: httpx.Response) -> str:
    """The text of a page's main part, line by line, with the addresses that it leads to."""
    main = re.sub(r"(?s).*<main[^>]*>|</main>.*|<script.*?</script>|<svg.*?</svg>", "", page.text)
    main = re.sub(r'<a [^>]*href="([^"]*)"[^>]*>', r"[\1] ", main)
    text = re.sub(r"(?s)<[^>]*>", " ", main)
    return "\n".join(shown for line in text.splitlines() if (shown := " ".join(unescape(line).split())))


async def see(client: httpx.AsyncClient, path: str, **params: Any) -> httpx.Response:
    return await client.get(path, headers=HTML, params=params or None)


async def send(client: httpx.AsyncClient, page: httpx.Response, action: str, **values: Any) -> httpx.Response:
    """The reply to a form of a page with these values; redirects are not followed."""
    return await client.post(action, headers=HTML, data={**form(page, action), **values})
