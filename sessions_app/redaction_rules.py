"""What is made unreadable: shapes of secrets, by pattern. Pure."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

# Not part of the library's promises, and so without types.
_PARSER: Any = import_module("re._parser")

# Where a word begins: `risk-…` is not `sk-…`.
_AT = r"(?<![A-Za-z0-9])"

SECRETS: dict[str, str] = {
    "private-key": (
        r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----[\s\S]*?"
        r"(?:-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|\Z)"
    ),
    "jwt": _AT + r"eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*",
    "provider-key": _AT + r"sk-(?=[A-Za-z0-9_-]*[0-9])[A-Za-z0-9_-]{20,}",
    "groq-key": _AT + r"gsk_[A-Za-z0-9]{20,}",
    "xai-key": _AT + r"xai-[A-Za-z0-9]{20,}",
    "google-key": _AT + r"AIza[A-Za-z0-9_-]{35}",
    "google-token": _AT + r"ya29\.[A-Za-z0-9_-]{20,}",
    "hugging-face-token": _AT + r"hf_[A-Za-z0-9]{30,}",
    "aws-key": _AT + r"(?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Za-z0-9])",
    "aws-secret": r"(?i:aws_secret_access_key)[\"']?\s*[=:]\s*[\"']?[A-Za-z0-9/+]{40}",
    "github-token": _AT + r"(?:gh[oprsu]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{22,})",
    "gitlab-token": _AT + r"glpat-[A-Za-z0-9_-]{20,}",
    "slack-token": _AT + r"(?:xox[abeoprs]|xapp)-[A-Za-z0-9-]{10,}",
    "stripe-key": _AT + r"(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{16,}",
    "sendgrid-key": _AT + r"SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}",
    "npm-token": _AT + r"npm_[A-Za-z0-9]{36}",
    "pypi-token": _AT + r"pypi-[A-Za-z0-9_-]{50,}",
    "telegram-token": _AT + r"[0-9]{8,10}:[A-Za-z0-9_-]{35}(?![A-Za-z0-9_-])",
    "discord-token": _AT + r"[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,}",
    "daybook-key": _AT + r"dbk_[A-Za-z0-9_-]{30,}",
    "webhook-secret": _AT + r"whsec_[A-Za-z0-9+/=_-]{20,}",
    "authorization": (
        r"(?i:authorization)[\"']?\s*[:=]\s*[\"']?(?i:bearer|basic|token)\s+[A-Za-z0-9._~+/=-]{8,}"
    ),
    # The name stays: it tells which account it was.
    "url-password": r"(?<=://)([^\s/:@\"'\\]*):[^\s/@\"'\\]+(?=@)",
}
EMAIL = (
    r"(?<![A-Za-z0-9._%+-])[A-Za-z0-9._%+-]{1,64}@"
    r"[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){0,8}\.[A-Za-z]{2,24}(?![A-Za-z0-9-])"
)
PHONE = r"(?<![\w.+])(?:\+[0-9]{1,3}[ ./-]?|0)(?:\(?[0-9]{1,5}\)?[ ./-]?){2,5}[0-9]{2,5}(?!\w)"
LONGEST_PATTERN = 500
MOST_PATTERNS = 50


class BadPattern(ValueError):
    """Why it cannot be used."""


@dataclass(frozen=True, slots=True)
class Rule:
    name: str
    pattern: re.Pattern[str]

    def applied(self, text: str) -> str:
        return self.pattern.sub(self._mark, text)

    def _mark(self, found: re.Match[str]) -> str:
        if not found[0]:
            return ""
        kept = f"{found[1]}:" if self.name == "url-password" else ""
        return f"{kept}[redacted:{self.name}]"


def rules(*, builtin: bool, email: bool, phone: bool, own: Iterable[Mapping[str, str]]) -> tuple[Rule, ...]:
    """Own patterns first: they are the more specific."""
    found = [Rule(given["name"], compiled(given["pattern"])) for given in own]
    chosen = dict(SECRETS) if builtin else {}
    chosen |= {"email": EMAIL} if email else {}
    chosen |= {"phone": PHONE} if phone else {}
    return (*found, *(Rule(name, re.compile(pattern)) for name, pattern in chosen.items()))


def redacted(text: str, applied: Iterable[Rule]) -> str:
    for rule in applied:
        text = rule.applied(text)
    return text


def redacted_value(value: Any, applied: tuple[Rule, ...]) -> Any:
    """All texts of a JSON value, names included: a secret may stand anywhere."""
    if isinstance(value, str):
        return redacted(value, applied)
    if isinstance(value, list):
        return [redacted_value(item, applied) for item in value]
    if isinstance(value, dict):
        return {redacted(name, applied): redacted_value(item, applied) for name, item in value.items()}
    return value


def compiled(pattern: str) -> re.Pattern[str]:
    """A pattern of an operator. Repeated repetitions are refused: a text could keep them busy for ever."""
    if not 1 <= len(pattern) <= LONGEST_PATTERN:
        raise BadPattern(f"A pattern has 1 to {LONGEST_PATTERN} characters.")
    try:
        found = re.compile(pattern)
        tree = _PARSER.parse(pattern)
    except (re.error, RecursionError, OverflowError) as error:
        raise BadPattern(f"It is not a regular expression: {error}.") from None
    if _repeats_inside(tree, inside=False):
        raise BadPattern("A repetition inside a repetition can take for ever on some texts.")
    if found.match(""):
        raise BadPattern("It matches where there is nothing.")
    return found


def _repeats_inside(tree: Any, *, inside: bool) -> bool:
    for operation, argument in tree:
        name = str(operation)
        if name in ("MAX_REPEAT", "MIN_REPEAT"):
            unbounded = argument[1] > LONGEST_PATTERN
            if (unbounded and inside) or _repeats_inside(argument[2], inside=inside or unbounded):
                return True
        elif (
            (name == "SUBPATTERN" and _repeats_inside(argument[3], inside=inside))
            or (name == "BRANCH" and any(_repeats_inside(branch, inside=inside) for branch in argument[1]))
            or (name in ("ASSERT", "ASSERT_NOT") and _repeats_inside(argument[1], inside=inside))
        ):
            return True
    return False
