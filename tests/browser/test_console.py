"""The console in a real browser, as operators use it."""

import json
import re
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from tests.console.attacks import ATTACKS
from tests.operations.daybook import Daybook

from .addresses import PAGES, SESSIONS
from .conftest import PASSWORD, LogIn

pytestmark = pytest.mark.xdist_group("browser")

WIDTHS = (375, 1024, 1920)
EVERYTHING: dict[str, Any] = {"resultTypes": ["violations"]}
COLOURS = {**EVERYTHING, "runOnly": ["color-contrast"]}


class Agent:
    """An agent that talks to the same Daybook."""

    def __init__(self, daybook: Daybook) -> None:
        [self.key] = re.findall(r"^API key +(\S+)", daybook.output(), re.MULTILINE)
        self._http = httpx.Client(
            base_url=f"http://127.0.0.1:{daybook.port}/api/v1",
            headers={"Authorization": f"Bearer {self.key}"},
        )

    def open(self, key: str, **fields: Any) -> str:
        session: str = self._http.post("/sessions", json={"key": key, **fields}).json()["id"]
        return session

    def say(self, session: str, *messages: dict[str, Any]) -> None:
        answer = self._http.post(f"/sessions/{session}/messages", json={"messages": list(messages)})
        assert answer.status_code == 201, answer.text

    def close(self) -> None:
        self._http.close()


@pytest.fixture(scope="module")
def agent(daybook: Daybook) -> Iterator[Agent]:
    made = Agent(daybook)
    yield made
    made.close()


def permalink(session: str) -> str:
    return f"{SESSIONS}at/{session}/"


def test_log_in_find_a_session_read_it_reset_it_and_see_it_in_the_log(log_in: LogIn, agent: Agent) -> None:
    session = agent.open("telegram:lighthouse", title="The lighthouse keeper")
    agent.say(session, {"role": "user", "content": "When does the lamp go out?"},
              {"role": "assistant", "content": "At **06:14**, with the sun."})  # fmt: skip
    page = log_in(None)
    page.goto("/admin/")
    page.fill("[name=username]", "operator-1")
    page.fill("[name=password]", "wrong")
    page.press("[name=password]", "Enter")
    expect(page.get_by_text("Please enter the correct username")).to_be_visible()
    page.fill("[name=username]", "operator-1")
    page.fill("[name=password]", PASSWORD)
    page.press("[name=password]", "Enter")
    page.locator(f'a[href="{SESSIONS}"]').first.click()
    page.fill("[name=q]", "lighthouse keep")
    page.press("[name=q]", "Enter")
    page.get_by_role("link", name="The lighthouse keeper").click()
    expect(page.locator("#m1")).to_contain_text("When does the lamp go out?")
    expect(page.locator("#m2 strong")).to_have_text("06:14")
    page.get_by_role("link", name="Reset …").click()
    page.get_by_role("button", name="Reset").click()
    expect(page.get_by_text("Reset: it has ended, and a new session of its key is open.")).to_be_visible()
    expect(page.get_by_text("Nothing has been said yet.")).to_be_visible()
    page.get_by_role("link", name="← before").click()
    expect(page.get_by_text("ended: reset")).to_be_visible()
    page.goto("/admin/admin/logentry/")
    row = page.locator("tr", has_text="The lighthouse keeper").first
    expect(row).to_contain_text("operator-1")
    expect(row).to_contain_text("Reset: it has ended")


def test_the_page_of_the_api_works_with_this_servers_own_files_alone(log_in: LogIn, agent: Agent) -> None:
    page = log_in(None)
    page.goto("/api/v1/docs")
    page.get_by_role("button", name="Authorize").first.click()
    page.get_by_label("auth-bearer-value").fill(agent.key)
    page.get_by_label("Apply credentials").first.click()
    page.get_by_role("button", name="Close").first.click()
    page.get_by_role("link", name="agent", exact=True).click()
    page.locator(".opblock-get", has_text="/api/v1/agent").first.click()
    page.get_by_role("button", name="Try it out").click()
    page.get_by_role("button", name="Execute").click()
    expect(page.locator(".live-responses-table")).to_contain_text('"timezone": "UTC"')


def test_the_live_tail_shows_what_is_said_meanwhile(log_in: LogIn, agent: Agent) -> None:
    session = agent.open("telegram:live")
    agent.say(session, {"role": "user", "content": "first"})
    page = log_in("viewer-1")
    page.goto(permalink(session))
    expect(page.locator("#db-live")).to_have_text("live")
    call = {"id": "c1", "type": "function", "function": {"name": "tides", "arguments": '{"port": "Brest"}'}}
    agent.say(session, {"role": "assistant", "tool_calls": [call]},
              {"role": "tool", "tool_call_id": "c1", "content": "high at 04:10"},
              {"kind": "error", "error": "the <b>gauge</b> is silent"})  # fmt: skip
    expect(page.locator("#m4")).to_contain_text("the <b>gauge</b> is silent")
    page.locator("#m2 summary").click()
    expect(page.locator("#m2")).to_contain_text("high at 04:10")
    # A result that comes later is put to the call that stands there already.
    agent.say(session, {"role": "assistant", "tool_calls": [{**call, "id": "c2"}]})
    expect(page.locator("#m5")).to_contain_text("no result here")
    agent.say(session, {"role": "tool", "tool_call_id": "c2", "content": "low at 10:25"})
    expect(page.locator("#m5 .db-call-result")).to_have_text("→ low at 10:25")
    expect(page.locator("#m5")).not_to_contain_text("no result here")
    entries = page.locator("#db-entries > [data-seq]")
    assert entries.evaluate_all("found => found.map(e => e.dataset.seq)") == [str(n) for n in range(1, 7)]


def test_a_long_session_comes_by_parts_and_entries_have_addresses(log_in: LogIn, agent: Agent) -> None:
    session = agent.open("telegram:long")
    for begin in range(1, 351, 50):
        agent.say(session, *({"role": "user", "content": f"line {n}"} for n in range(begin, begin + 50)))
    page = log_in("viewer-1")
    page.goto(permalink(f"{session}.120"))
    expect(page.locator("#m120.db-wanted")).to_be_in_viewport()
    assert page.locator("#db-entries article").count() == 100
    page.locator("#db-later").click()
    expect(page.locator("#m295")).to_be_attached()
    page.locator("#db-earlier").click()
    expect(page.locator("#m1")).to_be_attached()
    expect(page.locator("#db-earlier")).to_be_hidden()
    seqs = page.locator("#db-entries [data-seq]").evaluate_all("found => found.map(e => +e.dataset.seq)")
    assert seqs == list(range(1, 296))
    page.keyboard.press("Escape")
    page.locator("body").press("/")
    page.keyboard.type("line 77")
    expect(page.locator("#db-found")).to_have_text("1 found")
    # Found in the whole session, and fetched from where the page has nothing yet.
    page.fill("#db-find", "LINE 340")
    expect(page.locator("#db-found")).to_have_text("1 found")
    page.press("#db-find", "Enter")
    expect(page.locator("#db-found")).to_have_text("1 of 1")
    expect(page.locator("#m340.db-wanted.db-hit-entry")).to_be_in_viewport()
    expect(page.locator("#m1")).to_have_count(0)
    page.fill("[name=seq]", "350")
    page.press("[name=seq]", "Enter")
    expect(page.locator("#m350.db-wanted")).to_be_in_viewport()


def test_no_message_runs_script_breaks_the_page_or_loads_anything(log_in: LogIn, agent: Agent) -> None:
    session = agent.open("attacks", title=ATTACKS[0])
    for text in ATTACKS:
        call = {
            "id": "c",
            "type": "function",
            "function": {"name": text[:500], "arguments": json.dumps({"a": text})},
        }
        agent.say(session, {"role": "user", "content": text, "name": text[:500], "media": [text[:8000]]},
                  {"role": "assistant", "content": text, "reasoning_content": text, "tool_calls": [call]},
                  {"role": "tool", "tool_call_id": "c", "content": text},
                  {"kind": "error", "error": text, "context": text},
                  {"kind": "decision", "decision": text, "rationale": text},
                  {"kind": "tool_call", "tool": text[:500], "args": {"a": text}, "result": text})  # fmt: skip
    page = log_in("root")
    for address in (permalink(session), f"{SESSIONS}?q=attacks", "/admin/sessions_app/message/", "/admin/"):
        page.goto(address)
        page.wait_for_load_state("load")
        assert page.evaluate("window.pwned") is None
        assert page.locator("#main").count() == 1
    page.goto(permalink(session))
    inside = page.locator("#db-entries")
    assert (
        inside.locator(
            "script, img, iframe, style, link, object, embed, form, input, svg, base, meta"
        ).count()
        == 0
    )
    hrefs = inside.locator("a").evaluate_all("found => found.map(e => e.getAttribute('href'))")
    assert [href for href in hrefs if not re.match(r"(\?seq=|#m|https?://|mailto:|/admin/)", href)] == []
    assert (
        inside.locator("[onclick], [onerror], [onload], [x-data], [x-init], [hx-get], [style]").count() == 0
    )


def test_a_long_action_shows_its_progress_also_after_a_reload(log_in: LogIn, agent: Agent) -> None:
    for number in range(3):
        agent.open(f"jobs:{number}", title=f"Zugzwang {number}")
    page = log_in("operator-1")
    page.goto(f"{SESSIONS}?q=Zugzwang")
    page.locator("input.action-select").first.wait_for()
    for box in page.locator("input.action-select").all():
        box.check()
    page.select_option("select[name=action]", "reset_selected")
    page.get_by_role("button", name="Run").click()
    expect(page.locator("[data-job=state]")).to_have_text("done")
    expect(page.get_by_text("3 of 3 sessions looked at")).to_be_visible()
    page.reload()
    expect(page.locator("progress")).to_have_attribute("value", "3")


def test_erasing_is_asked_twice(log_in: LogIn, agent: Agent) -> None:
    session = agent.open("erase:me", title="To be erased")
    page = log_in("operator-1")
    page.goto(permalink(session))
    page.get_by_role("link", name="Erase …").click()
    page.fill("[name=sure]", "yes")
    page.get_by_role("button", name="Erase").click()
    expect(page.get_by_role("alert")).to_have_text("Type the word to go on.")
    page.fill("[name=sure]", "erase")
    page.get_by_role("button", name="Erase").click()
    expect(page.get_by_text("Erased the session of 0 entries.")).to_be_visible()


def test_a_key_is_shown_once(log_in: LogIn) -> None:
    page = log_in("root")
    page.goto("/admin/gateway_app/apikey/add/")
    page.fill("[name=name]", "laptop")
    page.locator("input[name=scopes][value=read]").check()
    page.get_by_role("button", name="Save", exact=True).click()
    secret = page.locator(".db-secret").inner_text()
    assert re.fullmatch(r"dbk_[\w-]{43}", secret)
    page.get_by_role("link", name="Back to the list").click()
    assert secret not in page.content()


def test_who_only_looks_is_offered_nothing_else(log_in: LogIn, agent: Agent) -> None:
    session = agent.open("look:only")
    page = log_in("viewer-1")
    page.goto(permalink(session))
    for name in ("Condense", "Reflect", "End it"):
        expect(page.get_by_role("button", name=name)).to_have_count(0)
    for name in ("Reset …", "Trim the window …", "Erase …"):
        expect(page.get_by_role("link", name=name)).to_have_count(0)
    expect(page.get_by_role("link", name="API keys")).to_have_count(0)


def test_a_menu_and_the_theme_work_without_inline_script(log_in: LogIn) -> None:
    page = log_in("root", width=375)
    page.goto("/admin/")
    expect(page.locator("html")).not_to_have_class(re.compile("dark"))
    page.evaluate("localStorage.setItem('adminTheme', '\"dark\"')")
    page.reload()
    expect(page.locator("html")).to_have_class(re.compile("dark"))
    policy = page.goto("/admin/")
    assert policy is not None
    said = policy.headers["content-security-policy"]
    assert "unsafe" not in said
    assert "script-src 'self'" in said
    assert policy.headers["x-frame-options"] == "DENY"
    assert "no-store" in policy.headers["cache-control"]


def test_every_page_fits_every_width_and_has_no_serious_barrier(log_in: LogIn, agent: Agent) -> None:
    session = agent.open("long:" + "x" * 400, title="A title " + "without-an-end" * 20)
    agent.say(
        session,
        {"role": "user", "content": "y" * 3000},
        {"role": "assistant", "content": "# T\n\n`" + "z" * 900 + "`"},
    )
    page, axe = log_in("root"), Axe()
    page.emulate_media(reduced_motion="reduce")
    wrong: list[str] = []
    for address in (*PAGES, permalink(session)):
        page.set_viewport_size({"width": WIDTHS[1], "height": 900})
        answer = page.goto(address)
        assert answer is not None
        if answer.status != 200:
            wrong.append(f"{address}: {answer.status}")
        wrong += barriers(page, axe, address, EVERYTHING)
        # The page is the same in the dark; its colours are not.
        page.evaluate("document.documentElement.classList.add('dark')")
        wrong += barriers(page, axe, f"{address} in the dark", COLOURS)
        wrong += [f"{address} at {width}: {over} pixels too wide" for width, over in overflows(page)]
    assert wrong == []


def overflows(page: Page) -> Iterator[tuple[int, int]]:
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        over = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        if over > 0:
            yield width, over


def barriers(page: Page, axe: Axe, address: str, options: dict[str, Any]) -> list[str]:
    found = axe.run(page, options=options).response["violations"]
    serious = [rule for rule in found if rule["impact"] in ("serious", "critical")]
    return [
        f"{address}: {rule['id']} {[node['html'][:160] for node in rule['nodes'][:3]]}" for rule in serious
    ]
