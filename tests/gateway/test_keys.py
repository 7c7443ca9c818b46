import hashlib
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
import time_machine
from django.db import connection
from django.forms.models import model_to_dict
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from gateway_app import keys
from gateway_app.keys import BadKeyRequest, create_key, identify, revoke
from gateway_app.models import ApiKey
from sessions_app.access import SCOPES, implied
from sessions_app.models import Agent
from sessions_app.problems import Unauthorized
from tests.conftest import Api, said

from .plans import explained

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def nobody_noted() -> None:
    """What this process remembers of keys that an earlier test made and took back."""
    keys._noted.clear()


def last_used(key: ApiKey) -> datetime | None:
    return ApiKey.objects.get(pk=key.pk).last_used_at


def test_only_the_hash_of_a_secret_is_stored() -> None:
    key, secret = create_key("laptop", "main", ["read"])
    assert secret.startswith("dbk_")
    assert len(secret) == 4 + 43, "256 bits in base 64"
    stored = ApiKey.objects.get()
    assert stored.digest == hashlib.sha256(secret.encode()).hexdigest()
    assert stored.prefix == secret[:12]
    kept = " ".join(str(value) for value in model_to_dict(stored).values()) + stored.digest + stored.prefix
    assert secret not in kept
    assert secret[12:] not in kept
    assert str(key) == f"laptop ({secret[:12]}…)"


def test_no_two_keys_are_alike() -> None:
    assert len({create_key("k", "main", ["read"])[1] for _ in range(20)}) == 20


@pytest.mark.parametrize(
    ("given", "reached"),
    [
        ([], set()),
        (["read"], {"read"}),
        (["write"], {"read", "write"}),
        (["admin"], {"read", "write", "admin"}),
        (["read", "admin"], {"read", "write", "admin"}),
    ],
)
def test_a_scope_implies_those_below_it(given: list[str], reached: set[str]) -> None:
    assert implied(given) == reached


@pytest.mark.parametrize(
    ("scope", "statuses"), [("read", [200, 403, 403]), ("write", [200, 201, 403]), ("admin", [200, 201, 200])]
)
def test_a_key_may_do_what_its_scope_says(
    make_api: Callable[..., Api], scope: str, statuses: list[int]
) -> None:
    api = make_api("main", scope)
    answers = [
        api.get("/sessions"),
        api.post("/sessions", {"key": "a"}),
        api.send("PATCH", "/agent", {"timezone": "Europe/Berlin"}),
    ]
    assert [answer.status_code for answer in answers] == statuses


def test_a_refused_scope_is_named(reader: Api) -> None:
    answer = reader.post("/sessions", {"key": "a"})
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert said(answer) == {
        "type": "about:blank",
        "title": "Forbidden",
        "status": 403,
        "detail": "This needs the scope write; the key has read.",
    }


@pytest.mark.parametrize(
    "header",
    ["", "Bearer", "Bearer ", "Basic dXNlcjpwYXNz", "dbk_0123456789", "Bearer dbk_wrong", "Bearer \xff\xfe"],
)
def test_whatever_is_no_key_is_refused(nobody: Api, header: str) -> None:
    answer = nobody.get("/sessions", Authorization=header)
    assert answer.status_code == 401
    assert answer.headers["WWW-Authenticate"] == "Bearer"
    assert answer.headers["Content-Type"] == "application/problem+json"


@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER"])
def test_the_scheme_may_be_written_in_any_case(api: Api, nobody: Api, scheme: str) -> None:
    assert nobody.get("/sessions", Authorization=f"{scheme} {api.secret}").status_code == 200


def test_a_key_works_until_the_instant_it_expires() -> None:
    _, secret = create_key("k", "main", ["read"], expires_at=NOON)
    assert identify(f"Bearer {secret}", None, NOON - timedelta(microseconds=1)).agent == "main"
    with pytest.raises(Unauthorized):
        identify(f"Bearer {secret}", None, NOON)


def test_a_revoked_key_opens_nothing_and_its_first_revocation_stands(api: Api) -> None:
    key = ApiKey.objects.get()
    revoke(key, NOON)
    revoke(ApiKey.objects.get(), NOON + timedelta(days=1))
    assert ApiKey.objects.get().revoked_at == key.revoked_at == NOON
    assert api.get("/sessions").status_code == 401


def test_the_same_words_refuse_unknown_expired_and_revoked_keys(api: Api, nobody: Api) -> None:
    """So that nobody learns which of them a guess was."""
    _, expired = create_key("k", "main", ["read"], expires_at=NOON)
    revoke(ApiKey.objects.get(digest=keys.digest(api.secret)), NOON)
    answers = [
        nobody.get("/sessions", Authorization=f"Bearer {secret}").content
        for secret in (expired, api.secret, "dbk_x")
    ]
    assert len(set(answers)) == 1


def test_last_use_is_noted_at_most_once_a_minute(api: Api) -> None:
    key = ApiKey.objects.get()
    with time_machine.travel(NOON, tick=False) as clock:
        api.get("/sessions")
        assert last_used(key) == NOON
        clock.shift(59.9)
        api.get("/sessions")
        assert last_used(key) == NOON
        clock.shift(0.1)
        api.get("/sessions")
        assert last_used(key) == NOON + timedelta(minutes=1)


def test_another_process_that_noted_the_use_is_believed(api: Api) -> None:
    ApiKey.objects.update(last_used_at=NOON)
    with time_machine.travel(NOON + timedelta(seconds=30), tick=False):
        api.get("/sessions")
    assert last_used(ApiKey.objects.get()) == NOON


def test_a_clock_that_was_set_back_does_not_stop_the_noting(api: Api) -> None:
    ApiKey.objects.update(last_used_at=NOON + timedelta(days=30))
    with time_machine.travel(NOON, tick=False):
        api.get("/sessions")
    assert last_used(ApiKey.objects.get()) == NOON


@pytest.mark.parametrize("agent", ["main", None])
def test_a_caller_is_known_by_one_query_through_an_index(agent: str | None) -> None:
    Agent.objects.get_or_create(name="main")
    _, secret = create_key("k", agent, ["read"])
    now = timezone.now()
    identify(f"Bearer {secret}", "main", now)
    with CaptureQueriesContext(
        connection,
    ) as seen:
        identify(f"Bearer {secret}", "main", now)
    assert len(seen) == 1
    plan = explained(seen[0]["sql"])
    assert "digest" in plan
    assert "SCAN held" not in plan


def test_an_operators_key_acts_for_the_agent_it_names(make_api: Callable[..., Api]) -> None:
    operator, other = make_api(None, "write"), make_api("other", "read")
    answer = operator.post("/sessions", {"key": "a"}, X_Daybook_Agent="other")
    assert answer.status_code == 201
    assert said(answer)["agent"] == "other"
    assert [session["id"] for session in said(other.get("/sessions"))["items"]] == [said(answer)["id"]]


@pytest.mark.parametrize("given", [{}, {"X_Daybook_Agent": ""}])
def test_an_operators_key_must_name_an_agent(make_api: Callable[..., Api], given: dict[str, str]) -> None:
    answer = make_api(None, "admin").get("/sessions", **given)
    assert answer.status_code == 422
    assert said(answer)["errors"] == [
        {
            "loc": ["header", "X-Daybook-Agent"],
            "msg": "An operator's key names the agent it acts for.",
            "type": "missing",
        }
    ]


@pytest.mark.parametrize("name", ["nobody", "MAIN", "main ", "a\x00b", "ä"])
def test_an_agent_that_is_not_there_is_not_made(api: Api, make_api: Callable[..., Api], name: str) -> None:
    answer = make_api(None, "admin").get("/sessions", X_Daybook_Agent=name)
    assert answer.status_code == 404
    assert said(answer)["detail"] == "There is no such agent."
    assert list(Agent.objects.values_list("name", flat=True)) == ["main"]


def test_an_agents_own_key_cannot_act_for_another(api: Api, stranger: Api) -> None:
    assert api.get("/sessions", X_Daybook_Agent="main").status_code == 200
    assert api.get("/sessions", X_Daybook_Agent="other").status_code == 404


@pytest.mark.parametrize("name", ["", "x" * 129])
def test_a_key_needs_a_name_that_fits(name: str) -> None:
    with pytest.raises(BadKeyRequest, match="cannot be a key's name"):
        create_key(name, "main", ["read"])
    assert not Agent.objects.exists()


@pytest.mark.parametrize("name", ["", "a b", "a/b", "ä", "x" * 65, "a\n"])
def test_an_agent_needs_a_name_that_can_stand_in_a_key(name: str) -> None:
    with pytest.raises(BadKeyRequest, match="cannot be an agent's name"):
        create_key("k", name, ["read"])
    assert not ApiKey.objects.exists()
    assert not Agent.objects.exists()


def test_scopes_are_kept_once_and_in_order() -> None:
    key, _ = create_key("k", "main", ["admin", "read", "admin"])
    assert key.scopes == ["read", "admin"]


@pytest.mark.parametrize(
    ("scopes", "message"),
    [
        ([], "A key needs at least one scope."),
        (["read", "delete"], f"Unknown scope 'delete'; there are {', '.join(SCOPES)}."),
    ],
)
def test_bad_scopes_are_explained(scopes: list[str], message: str) -> None:
    with pytest.raises(BadKeyRequest) as refused:
        create_key("k", "main", scopes)
    assert str(refused.value) == message
