"""Markdown of strangers as HTML that can do nothing: no HTML, no pictures, web and mail addresses alone."""

from functools import cache
from typing import Any

from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt

MOST = 20_000


def rendered(text: str) -> SafeString:
    # Everything in it was escaped by the renderer: it is given no HTML to pass on.
    html: str = _markdown().render(text[:MOST])
    return mark_safe(html)  # noqa: S308


@cache
def _markdown() -> MarkdownIt:
    made = MarkdownIt("commonmark", {"html": False, "linkify": False, "breaks": True})
    made.enable(["table", "strikethrough"])
    # A picture would be loaded from wherever a stranger likes, and tell them who reads.
    made.disable(["image", "html_block", "html_inline"])
    made.validateLink = _harmless  # type: ignore[method-assign]
    made.add_render_rule("link_open", _link_open)
    return made


def _harmless(url: str) -> bool:
    return url.strip().lower().startswith(("http://", "https://", "mailto:"))


def _link_open(self: Any, tokens: Any, index: int, options: Any, env: Any) -> str:
    tokens[index].attrSet("rel", "noopener noreferrer nofollow")
    tokens[index].attrSet("target", "_blank")
    rendered: str = self.renderToken(tokens, index, options, env)
    return rendered
