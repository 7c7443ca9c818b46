"""Markdown of strangers as HTML that can do nothing: no HTML, no pictures, web and mail addresses alone."""

from functools import cache
from typing import Any

from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt

# Of an entry among a hundred, and of a document on a page of its own.
MOST, MOST_ALONE = 20_000, 400_000
OUTWARD = ("http://", "https://", "mailto:")


def rendered(text: str, *, most: int = MOST, links_to: str = "") -> SafeString:
    """`links_to` is the beginning of addresses on this server that links may have besides."""
    # Everything in it was escaped by the renderer: it is given no HTML to pass on.
    html: str = _markdown(links_to).render(text[:most])
    return mark_safe(html)  # noqa: S308


def rendered_line(text: str) -> SafeString:
    """Without blocks: what stands in a line stays in it."""
    html: str = _markdown("").renderInline(text[:MOST])
    return mark_safe(html)  # noqa: S308 - see above


@cache
def _markdown(links_to: str) -> MarkdownIt:
    allowed = (*OUTWARD, links_to) if links_to else OUTWARD
    made = MarkdownIt("commonmark", {"html": False, "linkify": False, "breaks": True})
    made.enable(["table", "strikethrough"])
    # A picture would be loaded from wherever a stranger likes, and tell them who reads.
    made.disable(["image", "html_block", "html_inline"])
    made.validateLink = lambda url: url.strip().lower().startswith(allowed)  # type: ignore[method-assign]
    made.add_render_rule("link_open", _link_open)
    return made


def _link_open(self: Any, tokens: Any, index: int, options: Any, env: Any) -> str:
    if str(tokens[index].attrGet("href")).startswith(OUTWARD):
        tokens[index].attrSet("rel", "noopener noreferrer nofollow")
        tokens[index].attrSet("target", "_blank")
    rendered: str = self.renderToken(tokens, index, options, env)
    return rendered
