"""Forms and actions of the admin, as a browser sends them."""

import re
from typing import Any

from django.contrib.messages import get_messages
from django.test import Client

from .conftest import admin_page


def stored(client: Client, address: str, **fields: Any) -> Any:
    """The answer to a form that was taken."""
    response: Any = client.post(address, fields)
    if response.status_code == 200 and "adminform" in (response.context or {}):
        errors = response.context["adminform"].form.errors, response.context["errors"]
        raise AssertionError(f"the form was refused: {errors}")
    return response


def refused(client: Client, address: str, **fields: Any) -> str:
    """What the page says of a form that was not."""
    response: Any = client.post(address, fields)
    assert response.status_code == 200
    assert "adminform" in response.context
    return re.sub(r"<[^>]+>", "", " ".join(map(str, response.context["errors"])))


def act(client: Client, action: str, *rows: Any) -> Any:
    chosen = [row.pk for row in rows]
    return client.post(admin_page(type(rows[0])), {"action": action, "_selected_action": chosen})


def told(response: Any) -> list[str]:
    return [str(message) for message in get_messages(response.wsgi_request)]
