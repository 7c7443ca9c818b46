from collections.abc import Callable

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client

Member = Callable[[str], Client]


@pytest.fixture
def member(db: None) -> Member:
    def make(group: str) -> Client:
        user = User.objects.create_user(f"a {group}", is_staff=True)
        user.groups.add(Group.objects.get(name=group))
        client = Client()
        client.force_login(user)
        return client

    return make
