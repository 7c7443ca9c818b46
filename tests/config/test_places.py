import os
from pathlib import Path

import pytest

from config.embedded_broker import NoBroker, make_private_folder, server_config
from config.places import broker_socket, celery_broker_url


def test_the_socket_lies_in_the_data_directory_where_the_path_is_short_enough() -> None:
    exactly = Path("/" + "d" * 87)
    assert len(str(exactly / "broker.sock")) == 100
    assert broker_socket(exactly) == exactly / "broker.sock"


def test_a_deep_data_directory_has_its_socket_in_a_folder_named_after_it() -> None:
    deep, deeper = Path("/" + "d" * 88), Path("/" + "é" * 60)
    assert len(str(broker_socket(deep))) <= 100
    assert broker_socket(deep) == broker_socket(deep)
    assert broker_socket(deep).parent != broker_socket(deeper).parent
    assert broker_socket(deep).parent.name.startswith(f"daybook-{os.getuid()}-")


@pytest.mark.parametrize(
    ("given", "spelled"),
    [
        ("redis://host:6379/1", "redis://host:6379/1"),
        ("rediss://:pw@host/0", "rediss://:pw@host/0"),
        ("unix:///run/redis.sock", "redis+socket:///run/redis.sock"),
        ("unix:///run/redis.sock?db=3", "redis+socket:///run/redis.sock?virtual_host=3"),
    ],
)
def test_celery_gets_the_address_in_its_own_spelling(given: str, spelled: str) -> None:
    assert celery_broker_url(given) == spelled


def test_a_folder_for_the_socket_that_others_can_enter_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "shared"
    folder.mkdir()
    folder.chmod(0o755)
    with pytest.raises(NoBroker, match="is not a private folder of this user"):
        make_private_folder(folder)


def test_a_link_in_the_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "target").mkdir(mode=0o700)
    (tmp_path / "link").symlink_to(tmp_path / "target")
    with pytest.raises(NoBroker):
        make_private_folder(tmp_path / "link")


def test_the_private_folder_is_made_once_and_found_again(tmp_path: Path) -> None:
    make_private_folder(tmp_path / "own")
    make_private_folder(tmp_path / "own")
    assert (tmp_path / "own").stat().st_mode & 0o777 == 0o700


def test_the_broker_listens_on_nothing_but_its_socket_and_keeps_what_it_was_given() -> None:
    lines = server_config(Path('/a "b"'), Path("/a/broker.sock")).splitlines()
    assert "port 0" in lines
    assert "unixsocketperm 700" in lines
    assert "appendonly yes" in lines
    assert "maxmemory-policy noeviction" in lines
    assert 'dir "/a \\"b\\""' in lines
