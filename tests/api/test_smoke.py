from tests.conftest import Api, said


def test_append_and_read_back(api: Api) -> None:
    session = api.open()
    assert [item["seq"] for item in api.append(session, {"role": "user", "content": "hi"})["items"]] == [1]
    assert api.window(session)["messages"] == [{"role": "user", "content": "hi"}]
    assert said(api.get(f"/sessions/{session}/summary"))["entries"] == 1
