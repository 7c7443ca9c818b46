from pathlib import Path
from typing import Any

import pytest

from gateway_app.models import Delivery
from tests.conftest import Api

from .conftest import Clock
from .outgoing import fate, queue, round_of_deliveries


@pytest.mark.parametrize("content", ["# Report\n\nAll is well. ✓", "../../etc/passwd", "a\r\nb"])
def test_local_is_a_file_below_the_data_directory(
    clock: Clock, api: Api, settings: Any, tmp_path: Path, content: str
) -> None:
    settings.DATA_DIR = tmp_path
    session = api.open("../../escape")
    delivery_id = queue(api, "local", content, session_id=session)
    round_of_deliveries()
    assert fate(api, delivery_id) == ("delivered", 1, None)
    [file] = [path for path in tmp_path.rglob("*") if path.is_file()]
    agent = Delivery.objects.get().agent_id
    assert file == tmp_path / "deliveries" / str(agent) / "2026-05-01" / f"{delivery_id}.md"
    head = f"---\nid: {delivery_id}\nsession: {session}\ncreated: 2026-05-01T12:00:00+00:00\n---\n\n"
    assert file.read_bytes().decode() == head + content + "\n"


def test_a_file_that_cannot_be_written_is_tried_again(
    clock: Clock, api: Api, settings: Any, tmp_path: Path
) -> None:
    settings.DATA_DIR = tmp_path
    (tmp_path / "deliveries").write_text("in the way")
    delivery_id = queue(api, "local")
    round_of_deliveries()
    assert fate(api, delivery_id) == ("retrying", 1, "The file could not be written: Not a directory.")
    (tmp_path / "deliveries").unlink()
    clock.move(seconds=5)
    round_of_deliveries()
    assert fate(api, delivery_id) == ("delivered", 2, None)
