import pytest
from django.core.management import CommandError, call_command

from gateway_app.models import ApiKey
from sessions_app.models import Agent
from tests.conftest import Api, said

pytestmark = pytest.mark.django_db


@pytest.fixture
def create(capsys: pytest.CaptureFixture[str]):  # type: ignore[no-untyped-def]
    def run(*arguments: str) -> str:
        call_command("create_api_key", *arguments)
        printed = capsys.readouterr()
        assert printed.err == ""
        return printed.out

    return run


def test_the_key_stands_alone_on_standard_output(create) -> None:  # type: ignore[no-untyped-def]
    printed = create("laptop")
    secret = printed.removesuffix("\n")
    assert secret.startswith("dbk_")
    assert not set(secret) & set(" \n\t")
    key = ApiKey.objects.get()
    assert (key.name, key.scopes) == ("laptop", ["write"])
    assert said(Api(secret, None).get("/agent"))["name"] == "main"


def test_the_agent_is_made_once(create) -> None:  # type: ignore[no-untyped-def]
    create("one", "--agent", "poet")
    create("two", "--agent", "poet", "--scope", "read")
    assert Agent.objects.get().name == "poet"
    assert ApiKey.objects.filter(agent__name="poet").count() == 2


def test_an_operators_key_has_no_agent(create) -> None:  # type: ignore[no-untyped-def]
    secret = create("console", "--operator", "--scope", "admin").strip()
    assert not Agent.objects.exists()
    assert ApiKey.objects.get().agent is None
    assert Api(secret, None).get("/sessions").status_code == 422


def test_scopes_add_up(create) -> None:  # type: ignore[no-untyped-def]
    create("k", "--scope", "admin", "--scope", "read")
    assert ApiKey.objects.get().scopes == ["read", "admin"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["k", "--scope", "delete"], "argument --scope: invalid choice: 'delete'"),
        (["k", "--agent", "a b"], "'a b' cannot be an agent's name: Letters, digits, dot, underscore"),
        (["x" * 129], "cannot be a key's name: Ensure this value has at most 128 characters"),
        ([""], "'' cannot be a key's name: This field cannot be blank."),
        (["k", "--operator", "--agent", "a"], "not allowed with argument"),
        ([], "the following arguments are required: name"),
    ],
)
def test_what_cannot_be_made_is_explained(arguments: list[str], message: str) -> None:
    with pytest.raises(CommandError) as refused:
        call_command("create_api_key", *arguments)
    assert message in str(refused.value)
    assert not ApiKey.objects.exists()
