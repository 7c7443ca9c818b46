"""What stands in the cells of lists: times, states and names as they look all over the console."""

from datetime import datetime
from typing import Any

from django.template.defaultfilters import date
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

GOOD, BAD, WARN = "db-good", "db-bad", "db-warn"
# up to so many seconds, in which unit, of how many seconds, with how many places
SPANS = ((60, "s", 1, 1), (120, "s", 1, 0), (5_400, "min", 60, 0), (172_800, "h", 3_600, 1))
NONE = "\N{EN DASH}"


def when(moment: datetime | None, none: str = NONE) -> SafeString | str:
    if moment is None:
        return none
    this_year = moment.year == timezone.now().year
    shown = date(moment, "j M, H:i" if this_year else "j M Y, H:i")
    return format_html('<time class="db-time" datetime="{}">{}</time>', moment.isoformat(), shown)


def tag(text: object, kind: str = "") -> SafeString:
    return format_html('<span class="db-tag {}">{}</span>', kind, text)


def two_lines(name: object, below: object = "") -> SafeString:
    return format_html('<span class="db-name">{}</span><span class="db-sub">{}</span>', name, below)


def link_to(row: Any, text: object = "") -> SafeString | str:
    """To the page of a row; its name alone where there is none."""
    if row is None:
        return NONE
    address = reverse(f"admin:{row._meta.app_label}_{row._meta.model_name}_change", args=[row.pk])
    return format_html('<a class="db-link" href="{}">{}</a>', address, text or row)


def spaced(number: int) -> str:
    return f"{number:,}".replace(",", "\N{NARROW NO-BREAK SPACE}")


def lasted(seconds: float | None) -> str:
    """A duration in words: 320 ms, 4.2 s, 75 s, 12 min, 3.5 h, 7.1 d."""
    if seconds is None:
        return NONE
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    for most, unit, size, places in SPANS:
        if seconds < most:
            return f"{seconds / size:.{places}f} {unit}"
    return f"{seconds / 86_400:.1f} d"
