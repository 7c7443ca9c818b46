"""What is made unreadable: shapes of secrets, by pattern. Pure."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import re2

# How an operator may name a pattern.
PATTERN_NAME = re.compile(r"^[a-z0-9][a-z0-9-]{0,39}$")

# Where a word begins: `risk-…` is not `sk-…`.
_AT = r"(?<![A-Za-z0-9])"

SECRETS: dict[str, str] = {
    "private-key": (
        r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----[\s\S]*?"
        r"(?:-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|\Z)"
    ),
    "jwt": _AT + r"eyJ[A-Za-z0-9_-]{8,1024}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*",
    "provider-key": _AT + r"sk-(?=[A-Za-z0-9_-]{0,255}[0-9])[A-Za-z0-9_-]{20,}",
    "groq-key": _AT + r"gsk_[A-Za-z0-9]{20,}",
    "xai-key": _AT + r"xai-[A-Za-z0-9]{20,}",
    "google-key": _AT + r"AIza[A-Za-z0-9_-]{35}",
    "google-token": _AT + r"ya29\.[A-Za-z0-9_-]{20,}",
    "hugging-face-token": _AT + r"hf_[A-Za-z0-9]{30,}",
    "aws-key": _AT + r"(?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Za-z0-9])",
    "aws-secret": r"(?i:aws_secret_access_key)[\"']?\s*[=:]\s*[\"']?[A-Za-z0-9/+]{40}",
    "github-token": _AT + r"(?:gh[oprsu]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{22,})",
    "gitlab-token": _AT + r"gl(?:pat|rt|dt|ptt|soat|cbt)-[A-Za-z0-9_-]{20,}",
    "slack-token": _AT + r"(?:xox[abeoprs]|xapp)-[A-Za-z0-9-]{10,}",
    "stripe-key": _AT + r"(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{16,}",
    "sendgrid-key": _AT + r"SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}",
    "npm-token": _AT + r"npm_[A-Za-z0-9]{36}",
    "pypi-token": _AT + r"pypi-[A-Za-z0-9_-]{50,}",
    "telegram-token": r"(?:(?<![A-Za-z0-9])|(?<=/bot))[0-9]{8,10}:[A-Za-z0-9_-]{35}(?![A-Za-z0-9_-])",
    "discord-token": _AT + r"[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,}",
    "daybook-key": _AT + r"dbk_[A-Za-z0-9_-]{30,}",
    "webhook-secret": _AT + r"whsec_[A-Za-z0-9+/=_-]{20,}",
    "service-token": _AT
    + r"(?:GOCSPX-[A-Za-z0-9_-]{20,}|(?:ntn|secret)_[A-Za-z0-9]{40,}|lin_api_[A-Za-z0-9]{32,}"
    r"|dop_v1_[a-f0-9]{64}|r8_[A-Za-z0-9]{30,}|pplx-[A-Za-z0-9]{32,}|nvapi-[A-Za-z0-9_-]{40,}"
    r"|tvly-[A-Za-z0-9-]{20,}|dapi[a-f0-9]{32}|hv[sb]\.[A-Za-z0-9_-]{20,}|shp(?:at|ca|pa|ss)_[A-Fa-f0-9]{32}"
    r"|sq0(?:atp|csp)-[A-Za-z0-9_-]{22,}|SK[a-f0-9]{32}|key-[a-z0-9]{32}|dckr_pat_[A-Za-z0-9_-]{20,}"
    r"|AGE-SECRET-KEY-1[A-Z0-9]{50,}|AccountKey=[A-Za-z0-9+/=]{40,})",
    "authorization": (
        r"(?i:authorization)[\"']?\s*[:=]\s*[\"']?(?i:bearer|basic|token)\s+[A-Za-z0-9._~+/=-]{8,}"
        r"|(?<![A-Za-z0-9])(?i:bearer)\s+[A-Za-z0-9._~+/=-]{20,}"
    ),
    # The name stays: it tells which account it was, or what was set.
    "url-password": r"(?<=://)([^\s/:@\"'\\]*:)[^\s/\"'\\]+(?=@)",
    "assigned-secret": (
        r"((?i:api[_-]?key|secret[_-]?key|access[_-]?token|client[_-]?secret|passw(?:or)?d)"
        r"\\{0,2}[\"']?\s{0,8}[:=]\s{0,8}\\{0,2}[\"']?)"
        r"(?!\[redacted:)(?=[^\s\"'\\,;&]{0,255}[0-9])[^\s\"'\\,;&]{8,}"
    ),
}
EMAIL = (
    r"(?<![A-Za-z0-9._%+-])[A-Za-z0-9._%+-]{1,64}@"
    r"[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){0,8}\.[A-Za-z]{2,24}(?![A-Za-z0-9-])"
)
PHONE = r"(?<![\w.+])(?:\+[0-9]{1,3}[ ./-]?|0)(?:\(?[0-9]{1,5}\)?[ ./-]?){2,5}[0-9]{2,5}(?!\w)"
# Of these the first group stays.
KEPT = ("url-password", "assigned-secret")
LONGEST_PATTERN = 500
MOST_PATTERNS = 50
# What one of them may take when it is compiled: a repetition of repetitions is refused.
MEMORY = 1 << 20


class BadPattern(ValueError):
    """Why it cannot be used."""


class Pattern(Protocol):
    def sub(self, mark: Callable[[Any], str], text: str, /) -> str: ...


@dataclass(frozen=True, slots=True)
class Rule:
    name: str
    pattern: Pattern

    def applied(self, text: str) -> str:
        return self.pattern.sub(self._mark, text)

    def _mark(self, found: Any) -> str:
        if not found[0]:
            return ""
        kept = found[1] if self.name in KEPT else ""
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


def compiled(pattern: str) -> Pattern:
    """A pattern of an operator, for an engine without backtracking: no text can keep it busy."""
    if not 1 <= len(pattern) <= LONGEST_PATTERN:
        raise BadPattern(f"A pattern has 1 to {LONGEST_PATTERN} characters.")
    options = re2.Options()
    options.log_errors, options.max_mem = False, MEMORY
    try:
        found = re2.compile(pattern, options)
        nothing = found.search("")
    except re2.error as error:
        raise BadPattern(f"It is not a regular expression as RE2 has them: {_told(error)}.") from None
    if nothing:
        raise BadPattern("It matches where there is nothing.")
    made: Pattern = found
    return made


def _told(error: Exception) -> str:
    told = error.args[0] if error.args else "it cannot be read"
    return told.decode("utf-8", "replace") if isinstance(told, bytes) else str(told)
