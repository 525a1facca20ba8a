"""The pages in a real browser: create, ask, tell, follow, replay, on a desktop and a phone."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, BrowserContext, Page, ViewportSize, expect

from browser import launched
from heliotrope.service import create_app
from serving import command, serving

TOKEN = "correct-horse-battery-staple"
PATIENCE = 30_000  # ms, on a busy machine
MODEL = {"epsilon": 0.05, "mean": 0.0, "variance": 1.0, "noise": 0.01}
UNLIKE = {"kind": "tv_gp_ucb", **MODEL}  # of options, which share nothing
POLICY = {**UNLIKE, "length_scale": 0.3}  # nothing to learn: quick
REAL = {"type": "real", "low": 0.0, "high": 1.0}
CHOICE = {"type": "categorical", "choices": ["eco", "<b>fast</b>"]}
EVIL = "<img src=x onerror=pwned=1>"
SPACES: Mapping[str, Mapping[str, Any]] = {
    "map": {"space": {"a": REAL, "b": {"type": "real", "low": 0.1, "high": 10, "log": True}}},
    "band": {"space": {"a": REAL}},
    "slices": {"space": {"a": REAL, "n": {"type": "integer", "low": 1, "high": 9}, "mode": CHOICE}},
    "options": {"options": ["hall", "roof", EVIL, "a & b %{x} $y$"], "policy": UNLIKE},
}
PHONE: ViewportSize = {"width": 375, "height": 740}
Open = Callable[..., Page]
"""Opens a path of the service in a fresh context of the browser."""


class Api:
    """A client beside the page."""

    def __init__(self, client: httpx.Client) -> None:
        self._client, self.url = client, str(client.base_url).rstrip("/")

    def get(self, path: str) -> Any:
        return self._client.get(f"/api{path}").raise_for_status().json()

    def post(self, path: str, body: Mapping[str, Any]) -> Any:
        return self._client.post(f"/api{path}", json=body).raise_for_status().json()

    def study(self, name: str, described: Mapping[str, Any], results: int = 0) -> str:
        """Create a study with some results, and return its page."""
        self.post("/studies", {"name": name, "policy": POLICY, **described})
        for i in range(results):
            self.step(name, (i * 7 % 5) / 4.0)
        return f"/studies/{quote(name)}"

    def step(self, name: str, value: float) -> None:
        ask = self.post(f"/studies/{name}/ask", {})
        self.post(f"/studies/{name}/tell", {"id": ask["id"], "value": value})


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with launched() as browser:
        expect.set_options(timeout=PATIENCE)
        yield browser


@pytest.fixture(scope="module")
def desk(browser: Browser) -> Iterator[BrowserContext]:
    """One profile for most tests: its cache spares them the plotting library's parsing."""
    context = browser.new_context()
    yield context
    context.close()


@pytest.fixture(scope="module")
def api() -> Iterator[Api]:
    with serving(create_app("memory:")) as client:
        yield Api(client)


@pytest.fixture
def open_page(browser: Browser, desk: BrowserContext, api: Api) -> Iterator[Open]:
    pages: list[Page] = []
    errors: list[str] = []
    foreign: list[str] = []

    def opened(path: str, url: str = api.url, **options: Any) -> Page:
        page = browser.new_page(**options) if options else desk.new_page()
        pages.append(page)
        page.set_default_timeout(PATIENCE)
        page.on("pageerror", lambda error: errors.append(str(error)))
        ours = (f"{url}/", "data:", "blob:")
        page.on("request", lambda r: None if r.url.startswith(ours) else foreign.append(r.url))
        page.goto(url + path)
        if (url, path) == (api.url, "/"):  # the list moves what is below it when it arrives
            page.wait_for_selector("#studies:visible, #empty:visible")
        return page

    yield opened
    for page in pages:
        page.close()
    assert errors == []
    assert foreign == []  # nothing comes from another host


def drawn(page: Page, id: str, trace: int, key: str) -> Any:
    """Some data of a picture, once it is drawn."""
    page.wait_for_selector(f"#{id} .main-svg")
    return page.evaluate(f"document.getElementById('{id}').data[{trace}].{key}")


def wait_until(page: Page, script: str) -> None:
    """Wait until an expression holds; Playwright's own way needs an eval that is forbidden here."""
    for _ in range(PATIENCE // 50):
        if page.evaluate(script):
            return
        page.wait_for_timeout(50)
    raise AssertionError(f"never: {script}")


def wait_for_title(page: Page, words: str) -> None:
    expect(page.locator("#belief-title")).to_have_text(words)


# ---- from the list to a result


def test_a_study_is_created_asked_told_and_cancelled_by_hand(open_page: Open) -> None:
    page = open_page("/")
    page.get_by_label("Name", exact=True).first.fill("by hand")
    page.get_by_label("what I describe as JSON").check()
    page.get_by_label("Policy").fill(json.dumps(POLICY))
    page.get_by_role("button", name="Create").click()
    page.wait_for_url("**/studies/by%20hand")
    expect(page.locator("#best")).to_have_text("Unknown: there are no results yet.")

    page.get_by_role("button", name="Ask", exact=True).click()
    page.locator("#asks input").fill("1.25")
    page.get_by_role("button", name="Tell").click()
    expect(page.locator("#about")).to_contain_text("1 result of 1 ask")
    expect(page.locator("#best")).to_contain_text("temperature")
    expect(page.locator("#best")).to_contain_text("that nothing is better by more than 0.1.")
    assert drawn(page, "rewards", 3, "y") == [1.25]

    page.get_by_role("button", name="Ask", exact=True).click()
    expect(page.locator("#asks li")).to_have_count(1)
    page.get_by_role("button", name="Cancel", exact=True).click()
    expect(page.locator("#asks li")).to_have_count(0)
    expect(page.locator("#about")).to_contain_text("1 result of 2 asks")


def test_a_lease_is_shown_and_prolonged_by_hand(open_page: Open, api: Api) -> None:
    path = api.study("leased", {"options": ["a", "b"], "lease": "1h", "policy": {}})
    ask = api.post("/studies/leased/ask", {})
    page = open_page(path)
    shown = page.locator("#asks .lease")
    expect(shown).to_contain_text("expires at")
    before = shown.text_content()
    page.wait_for_timeout(1100)  # the time is shown in seconds
    page.get_by_role("button", name="Prolong").click()
    expect(shown).not_to_have_text(before or "")
    assert api.get("/studies/leased")["open"][0]["until"] > ask["until"]


def test_a_wrong_form_shows_the_error_and_its_field(open_page: Open, api: Api) -> None:
    page = open_page("/")
    alert = page.get_by_role("alert")
    described = page.get_by_label("Parameters or options, as JSON")
    page.get_by_label("Name", exact=True).first.fill("wrong")
    page.get_by_label("what I describe as JSON").check()
    described.fill('{"a": ')
    page.get_by_role("button", name="Create").click()
    expect(alert).to_contain_text("The description is not JSON")

    described.fill('{"a": {"type": "real", "low": 2, "high": 1}}')
    page.get_by_role("button", name="Create").click()
    expect(alert).to_contain_text("low")
    expect(described).to_have_attribute("aria-invalid", "true")
    expect(described).to_be_focused()
    assert "wrong" not in [study["name"] for study in api.get("/studies")["studies"]]

    alert.get_by_role("button", name="Close").click()
    expect(alert).to_be_empty()


def test_a_study_is_created_without_json(open_page: Open, api: Api) -> None:
    page = open_page("/")
    page.get_by_label("Name", exact=True).first.fill("no json")
    page.get_by_role("button", name="Remove this parameter").last.click()
    page.get_by_label("From").fill("0.001")
    page.get_by_label("To", exact=True).fill("1")
    page.get_by_label("Log scale").check()
    page.get_by_role("button", name="Add a parameter").click()
    row = page.locator(".parameter").last
    row.get_by_label("Name").fill("mode")
    row.get_by_label("Type").select_option("choice")
    page.get_by_role("button", name="Create").click()
    expect(page.get_by_role("alert")).to_contain_text("Mode needs choices")
    expect(row.get_by_label("Choices")).to_be_focused()
    row.get_by_label("Choices").fill("eco, boost")
    page.get_by_role("button", name="Add a condition").click()
    condition = page.locator("#context-rows .parameter")
    condition.get_by_label("Name").fill("day")
    condition.get_by_label("Type").select_option("yes or no")
    page.get_by_label("Best is").select_option("the lowest value")
    page.get_by_role("button", name="Create").click()
    page.wait_for_url("**/studies/no%20json")
    setup = api.get("/studies/no json")["setup"]
    assert setup["space"] == {
        "temperature": {"type": "real", "low": 0.001, "high": 1.0, "log": True},
        "mode": {"type": "categorical", "choices": ["eco", "boost"]},
    }
    assert setup["context"] == {"day": {"type": "boolean"}}
    assert setup["direction"] == "minimize"


def test_the_field_of_a_row_is_marked(open_page: Open) -> None:
    page = open_page("/")
    page.get_by_label("Name", exact=True).first.fill("marked")
    page.get_by_label("From").first.fill("30")
    page.get_by_role("button", name="Create").click()
    expect(page.get_by_role("alert")).to_contain_text("high to be no less than low")
    expect(page.get_by_label("To", exact=True).first).to_have_attribute("aria-invalid", "true")
    page.get_by_label("From").first.fill("")
    page.get_by_role("button", name="Create").click()
    expect(page.get_by_role("alert")).to_contain_text("Temperature needs a number as its low end")


def test_options_are_named_one_per_line(open_page: Open, api: Api) -> None:
    page = open_page("/")
    page.get_by_label("Name", exact=True).first.fill("lines")
    page.get_by_label("one of several named options").check()
    page.get_by_label("Options, one per line").fill("north wall\n\n south wall ")
    page.get_by_role("button", name="Create").click()
    page.wait_for_url("**/studies/lines")
    assert api.get("/studies/lines")["setup"]["options"] == ["north wall", "south wall"]


def test_the_list_shows_results_best_direction_and_age(open_page: Open, api: Api) -> None:
    api.study("listed low", {**SPACES["options"], "direction": "minimize"}, results=3)
    api.study("listed new", SPACES["band"])
    page = open_page("/")
    row = page.get_by_role("row").filter(has_text="listed low")
    best = api.get("/studies/listed low")["best"]["option"]
    expect(row).to_contain_text(best[:10])
    expect(row.get_by_role("cell").nth(1)).to_have_text("3")
    expect(row.get_by_role("cell").nth(3)).to_have_text("lowest")
    expect(row.get_by_role("cell").nth(4)).to_contain_text(re.compile("ago|now"))
    page.get_by_label("Search studies by name").fill("LISTED N")
    expect(row).to_have_count(0)
    expect(page.get_by_role("link", name="listed new")).to_be_visible()
    page.get_by_label("Search studies by name").fill("no such study")
    expect(page.locator("#no-match")).to_be_visible()


def test_the_search_looks_at_all_names(api: Api) -> None:
    for i in range(5):
        api.study(f"hay {i}", SPACES["band"])
    api.study("needle", SPACES["band"])
    found = api.get("/studies?limit=1&contains=NEED")
    assert [one["name"] for one in found["studies"]] == ["needle"]
    pages, after = [], ""
    while after is not None:
        page = api.get(f"/studies?limit=2&contains=hay&after={after}")
        pages += [one["name"] for one in page["studies"]]
        after = page["next"]
    assert pages == [f"hay {i}" for i in range(5)]


def test_asking_beside_a_live_worker_asks_first(open_page: Open, api: Api) -> None:
    page = open_page(api.study("busy", SPACES["band"], results=1))
    expect(page.get_by_role("status")).to_have_text("Live")
    page.get_by_role("button", name="Ask", exact=True).click()  # nobody else is there
    expect(page.locator("#asks li")).to_have_count(1)
    api.step("busy", 1.0)
    expect(page.locator("#about")).to_contain_text("2 results of 3 asks")
    page.get_by_role("button", name="Ask", exact=True).click()
    expect(page.get_by_role("dialog")).to_contain_text("within the last minute")
    page.get_by_role("button", name="Do not ask").click()
    assert api.get("/studies/busy")["asked"] == 3
    page.get_by_role("button", name="Ask", exact=True).click()
    page.get_by_role("button", name="Ask anyway").click()
    expect(page.locator("#asks li")).to_have_count(2)


def test_the_snippets_have_the_names_of_the_study(open_page: Open, api: Api) -> None:
    space = {"it's": REAL, "mode": CHOICE}
    page = open_page(api.study("my own", {"space": space}, results=2))
    page.get_by_text("Use it from curl and Python").click()
    python = page.get_by_label("Python", exact=True).inner_text()
    compile(python, "snippet", "exec")
    assert 'service.open("my own")' in python
    assert "**ask.params" in python
    curl = page.get_by_label("curl", exact=True).inner_text()
    words = shlex.split(curl, comments=True)
    bodies = [json.loads(words[i + 1]) for i, word in enumerate(words) if word == "-d"]
    assert bodies[2]["params"].keys() == space.keys()
    assert words[2] == f"{api.url}/api/studies/my%20own/ask"
    run = subprocess.run(["sh", "-c", curl], capture_output=True, text=True, check=False)
    if run.returncode != 127:  # where curl is installed
        assert '"params"' in run.stdout


def test_the_description_of_the_interface_is_a_page(open_page: Open) -> None:
    page = open_page("/docs")
    expect(page.get_by_role("heading", name="POST /api/studies/{name}/tell")).to_be_visible()
    section = page.locator("section").filter(has_text="POST /api/studies/{name}/tell")
    expect(section).to_contain_text("The standard error of the value, or those by metric.")
    section.get_by_role("link", name="Told").click()
    expect(page.locator("#Told")).to_be_in_viewport()


def test_a_demo_starts_from_the_page_and_continues(open_page: Open) -> None:
    page = open_page("/")
    page.get_by_role("button", name="Start a demo").click()
    page.wait_for_url("**/studies/demo-*")
    expect(page.locator("#about")).to_contain_text(re.compile("[3-9] results"))
    assert len(drawn(page, "rewards", 3, "y")) >= 1
    page.get_by_role("button", name="Delete…").click()  # which ends it
    page.get_by_role("button", name="Delete permanently").click()
    expect(page.get_by_role("heading", name="Studies")).to_be_visible()


def test_a_study_is_deleted_only_when_that_is_confirmed(open_page: Open, api: Api) -> None:
    page = open_page(api.study("short-lived", SPACES["band"]))
    page.get_by_role("button", name="Delete…").click()
    expect(page.get_by_role("dialog")).to_contain_text("“short-lived” and all its results")
    page.get_by_role("button", name="Keep").click()
    assert api.get("/studies/short-lived")["told"] == 0

    page.get_by_role("button", name="Delete…").click()
    page.get_by_role("button", name="Delete permanently").click()
    expect(page.get_by_role("heading", name="Studies")).to_be_visible()
    assert "short-lived" not in [study["name"] for study in api.get("/studies")["studies"]]


# ---- contexts


WEATHER = {"outside": {"type": "real", "low": -10, "high": 40}, "day": CHOICE}


def in_contexts(api: Api, name: str, described: Mapping[str, Any], results: int = 6) -> str:
    """Create a study with results in some contexts, and return its page."""
    page = api.study(name, {**described, "context": WEATHER})
    for i in range(results):
        context = {"outside": 5 * i, "day": CHOICE["choices"][i % 2]}
        ask = api.post(f"/studies/{name}/ask", {"context": context})
        api.post(f"/studies/{name}/tell", {"id": ask["id"], "value": (i * 7 % 5) / 4.0})
    return page


def test_a_study_with_contexts_is_created_and_asked_by_hand(open_page: Open, api: Api) -> None:
    page = open_page("/")
    page.get_by_label("Name", exact=True).first.fill("in the weather")
    page.get_by_label("what I describe as JSON").check()
    page.get_by_label("Policy").fill(json.dumps(POLICY))
    context = page.get_by_label("Context, as JSON")
    context.fill('{"outside": 5}')
    page.get_by_role("button", name="Create").click()
    expect(context).to_have_attribute("aria-invalid", "true")
    context.fill(json.dumps(WEATHER))
    page.get_by_role("button", name="Create").click()
    page.wait_for_url("**/studies/in%20the%20weather")
    expect(page.locator("#about")).to_contain_text("2 parameters in contexts of outside, day")
    expect(page.get_by_label("outside", exact=True)).to_have_value("15")  # the middle

    page.get_by_label("outside", exact=True).fill("21.5")
    page.get_by_label("day").select_option("<b>fast</b>")
    page.get_by_role("button", name="Ask", exact=True).click()
    expect(page.locator("#asks li")).to_contain_text("outside 21.5, day <b>fast</b>")
    (ask,) = api.get("/studies/in the weather")["open"]
    assert ask["context"] == {"outside": 21.5, "day": "<b>fast</b>"}
    page.locator("#asks input").fill("1.25")
    page.get_by_role("button", name="Tell").click()
    expect(page.locator("#best")).to_contain_text("At outside 21.5, day <b>fast</b>.")
    assert "at outside 21.5" in drawn(page, "rewards", 3, "customdata")[0][1]


def test_the_belief_is_that_of_the_chosen_context(open_page: Open, api: Api) -> None:
    page = open_page(in_contexts(api, "chosen context", SPACES["band"]))
    field, slider = page.get_by_label("outside", exact=True), page.locator("#context [type=range]")
    follow = page.get_by_role("button", name="Follow the asks")
    expect(field).to_have_value("25")
    expect(follow).to_be_disabled()
    words = page.locator("#belief-words")
    expect(words).to_contain_text("At outside 25, day <b>fast</b>. Line")
    dots = drawn(page, "belief", 3, "marker.opacity")
    assert max(dots[:-1]) < dots[-1] <= 1.0  # the last one is of this context

    slider.fill("0.1")
    expect(field).to_have_value("-5")
    page.get_by_label("day").select_option("eco")
    expect(words).to_contain_text("At outside -5, day eco.")
    expect(page.locator("#best")).to_contain_text("At outside -5, day eco.")
    there = quote(json.dumps({"outside": -5, "day": "eco"}))
    believed = api.get(f"/studies/chosen context/belief?context={there}")
    assert drawn(page, "belief", 2, "y") == believed["mean"]
    field.fill("99")  # out of range: nothing is looked at
    expect(words).to_contain_text("At outside -5, day eco.")

    api.post("/studies/chosen context/ask", {"context": {"outside": 40, "day": "eco"}})
    expect(page.locator("#asks li")).to_contain_text("outside 40, day eco")
    expect(words).to_contain_text("At outside -5, day eco.")  # what was chosen stays
    follow.click()
    expect(words).to_contain_text("At outside 40, day eco.")
    expect(field).to_have_value("40")


def test_the_past_is_seen_in_the_chosen_context(open_page: Open, api: Api) -> None:
    page = open_page(in_contexts(api, "past context", SPACES["map"]))
    page.get_by_label("outside", exact=True).fill("10")
    expect(page.locator("#belief-words")).to_contain_text("At outside 10, day <b>fast</b>.")
    page.locator("#time").fill("3")
    wait_for_title(page, "Belief at step 3")
    there = quote(json.dumps({"outside": 10, "day": "<b>fast</b>"}))
    believed = api.get(f"/studies/past context/belief?t=3&context={there}")
    wait_until(page, "document.querySelector('#belief').data[1].x.length === 3")
    assert drawn(page, "belief", 0, "z") == believed["mean"]
    page.get_by_label("outside", exact=True).fill("20")
    expect(page.locator("#belief-words")).to_contain_text("At outside 20, day <b>fast</b>.")
    wait_for_title(page, "Belief at step 3")


def test_sliders_go_by_the_scale_of_their_parameter(open_page: Open, api: Api) -> None:
    context = {
        "whole": {"type": "integer", "low": 1, "high": 9, "step": 2},
        "log": {"type": "real", "low": 1e-4, "high": 1, "log": True},
        "narrow": {"type": "real", "low": 1e6, "high": 1e6 + 1},
    }
    values = {"whole": 5, "log": 0.01, "narrow": 1000000.25}
    page = open_page(api.study("sliders", {**SPACES["band"], "context": context}))
    for name, share in {"whole": "0.5", "log": "0.5", "narrow": "0.25"}.items():
        page.get_by_label(f"{name}, as a slider").fill(share)
        expect(page.get_by_label(name, exact=True)).to_have_value(str(values[name]))
    page.get_by_role("button", name="Ask", exact=True).click()
    expect(page.locator("#asks li")).to_have_count(1)
    assert api.get("/studies/sliders")["open"][0]["context"] == values


# ---- watching


def test_results_of_others_show_without_a_reload(open_page: Open, api: Api) -> None:
    page = open_page(api.study("watched", SPACES["map"], results=3))
    expect(page.get_by_role("status")).to_have_text("Live")
    page.get_by_role("button", name="Ask", exact=True).click()
    page.locator("#asks input").fill("0.5")
    page.evaluate("window.before = true")
    api.step("watched", 4.5)
    expect(page.locator("#about")).to_contain_text("4 results of 5 asks")
    drawn(page, "rewards", 3, "y")
    wait_until(page, "document.getElementById('rewards').data[3].y.at(-1) === 4.5")
    assert page.evaluate("window.before") is True
    expect(page.locator("#asks input")).to_have_value("0.5")  # typing is not disturbed


def test_a_lost_service_is_waited_for(open_page: Open, tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path / 'studies.db'}"
    with command(store) as first, first.client() as client:
        page = open_page(Api(client).study("durable", SPACES["band"]), first.url)
        status = page.get_by_role("status")
        expect(status).to_have_text("Live")
        first.kill()
        expect(status).to_have_text("Reconnecting")
    with (
        command(store, "--port", first.url.rpartition(":")[2]) as second,
        second.client() as client,
    ):
        expect(status).to_have_text("Live")
        Api(client).post("/studies/durable/ask", {})
        expect(page.locator("#asks li")).to_have_count(1)


def test_the_bound_of_the_regret_shows_where_there_is_one(open_page: Open, api: Api) -> None:
    known = {"kind": "tv_gp_ucb", "epsilon": 0.01, "mean": 0.0, "variance": 1.0, "noise": 0.01}
    certified = known | {"beta": {"points": 2, "delta": 0.1}}
    page = open_page(api.study("bound", {"options": ["a", "b"], "policy": certified}, 3))
    expect(page.locator("#certificate")).to_contain_text("the regret of 3 asks is at most")
    expect(page.locator("#certificate")).to_contain_text("With a probability of 90")
    expect(page.locator("#certificate-assumes")).to_contain_text("drawn from the policy's prior")
    page = open_page(api.study("no bound", {"options": ["a", "b"], "policy": known}, 3))
    expect(page.locator("#rewards .main-svg").first).to_be_visible()
    expect(page.locator("#certificate")).to_be_hidden()


def test_a_missing_study_is_reported(open_page: Open) -> None:
    page = open_page("/studies/nobody")
    expect(page.get_by_role("status")).to_have_text("Not found")
    expect(page.locator("#about")).to_contain_text("There is no study with this name")


@pytest.mark.parametrize("view", ["band", "slices"])
def test_bands_show_the_belief_of_the_service(open_page: Open, api: Api, view: str) -> None:
    page = open_page(api.study(view, SPACES[view], results=6))
    believed = api.get(f"/studies/{view}/belief")
    assert believed["view"] == view
    expect(page.locator("#context")).to_be_hidden()
    band = believed["slices"][0] if view == "slices" else believed
    assert drawn(page, "belief", 2, "y") == band["mean"]
    assert drawn(page, "belief", 0, "y") == [
        mean - 1.96 * std for mean, std in zip(band["mean"], band["std"], strict=True)
    ]


def test_options_are_ranked_and_markup_in_their_names_stays_text(open_page: Open, api: Api) -> None:
    page = open_page(api.study("options", SPACES["options"], results=6))
    options = api.get("/studies/options/belief")["options"]
    ranked = sorted(options, key=lambda one: float(one["mean"]))  # the axis begins below
    assert drawn(page, "belief", 1, "x") == [one["mean"] for one in ranked]
    shown = page.locator("#belief .ytick text").all_text_contents()
    assert shown == [one["option"] for one in ranked]

    while EVIL not in page.locator("#asks").inner_text():
        page.get_by_role("button", name="Ask", exact=True).click()
    page.locator("#belief .nsewdrag").hover()
    assert page.locator("main img").count() == 0
    assert page.evaluate("window.pwned") is None


def test_the_charts_of_options_keep_their_width(open_page: Open, api: Api) -> None:
    page = open_page(api.study("narrow", SPACES["options"], results=2))
    for told in range(3, 6):
        api.step("narrow", 1.0)
        wait_until(page, f"document.getElementById('rewards').data?.[0].x.length === {told}")
        assert page.locator(".wide:has(#rewards), .wide:has(#moves)").count() == 0


def test_the_source_of_the_drift_rate_is_said(open_page: Open, api: Api) -> None:
    given = open_page(api.study("given rate", SPACES["options"], results=3))
    expect(given.locator("#drift-rate")).to_contain_text("as given")
    learned = open_page(api.study("learned rate", {**SPACES["options"], "policy": {}}, results=3))
    expect(learned.locator("#drift-rate")).to_contain_text("as learned")


def test_the_best_has_a_confidence_after_enough_results(open_page: Open, api: Api) -> None:
    page = open_page(api.study("unsure", {"options": ["p", "q", "r"], "policy": {}}))
    best = page.locator("#best")
    for number in range(6):
        api.step("unsure", 1e6 + 0.1 * number)
        if number == 1:
            expect(best).to_contain_text("There are too few results for a confidence.")
    expect(best).to_contain_text(re.compile(r"of (over |under )?\d+\s% that no other option"))
    expect(best).to_contain_text(re.compile(r"expected value100000\d\.\d"))


# ---- replaying


def test_the_slider_shows_the_belief_of_a_past_time(open_page: Open, api: Api) -> None:
    page = open_page(api.study("replayed", SPACES["map"], results=8))
    now = api.get("/studies/replayed/belief")
    assert drawn(page, "belief", 0, "z") == now["mean"]
    page.get_by_role("button", name="Uncertainty").click()
    wait_until(page, "document.getElementById('belief').data[0].colorbar.title.text[0] === 's'")
    assert drawn(page, "belief", 0, "z") == now["std"]
    page.get_by_role("button", name="Uncertainty").click()

    slider = page.get_by_label("Time of the belief")
    slider.fill("3")
    wait_for_title(page, "Belief at step 3")
    assert drawn(page, "belief", 0, "z") == api.get("/studies/replayed/belief?t=3")["mean"]
    assert len(drawn(page, "belief", 1, "x")) == 3  # nothing that was chosen later
    slider.press("ArrowRight")
    wait_for_title(page, "Belief at step 4")
    api.step("replayed", 0.0)
    expect(page.locator("#about")).to_contain_text("9 results")
    wait_for_title(page, "Belief at step 4")  # what comes in does not end a replay
    page.get_by_role("button", name="Now", exact=True).click()
    wait_for_title(page, "Belief now")


def test_a_replay_runs_from_the_first_step_to_the_present(open_page: Open, api: Api) -> None:
    page = open_page(api.study("film", SPACES["options"], results=5))
    drawn(page, "belief", 1, "x")
    page.evaluate(
        """() => {
            const title = document.getElementById("belief-title");
            window.titles = [];
            const note = () => titles.push(title.textContent);
            new MutationObserver(note).observe(title, {childList: true});
        }"""
    )
    page.get_by_role("button", name="Replay").click()
    wait_until(page, "titles.at(-1) === 'Belief now'")
    assert "Belief at step 1" in page.evaluate("titles")
    expect(page.get_by_role("button", name="Replay")).to_be_visible()


# ---- taking away


def test_results_and_pictures_are_downloaded(open_page: Open, api: Api) -> None:
    page = open_page(api.study("exported", SPACES["band"], results=3))
    drawn(page, "belief", 2, "y")

    def saved(button: str) -> bytes:
        with page.expect_download() as download:
            page.get_by_role("button", name=button).first.click()
        return Path(download.value.path()).read_bytes()

    assert saved("Export CSV").decode().splitlines()[0].startswith("id,t,params.a,value")
    assert len(json.loads(saved("Export JSON"))["results"]) == 3
    assert saved("Save this chart as PNG").startswith(b"\x89PNG")
    assert saved("Save this chart as SVG").startswith(b"<svg")


# ---- locked, light and dark, large and small


def test_a_locked_service_asks_for_its_token(open_page: Open) -> None:
    locked = create_app("memory:", tokens=[TOKEN])
    with serving(locked, authorization=f"Bearer {TOKEN}") as client:
        api = Api(client)
        page = open_page(api.study("secret", SPACES["band"]), api.url)
        expect(page.get_by_role("status")).to_have_text("Token needed")
        page.get_by_label("Token").fill("wrong")
        page.get_by_role("button", name="Use token").click()
        expect(page.locator("#token-form")).to_contain_text("The server rejected this token.")
        page.get_by_label("Token").fill(TOKEN)
        page.get_by_role("button", name="Use token").click()
        expect(page.get_by_role("status")).to_have_text("Live")
        expect(page.locator("#about")).to_contain_text("0 results")
        page.goto(api.url)  # the tab keeps it
        expect(page.get_by_role("link", name="secret")).to_be_visible()
        page.goto("about:blank")  # its stream would keep the service from stopping


def test_dark_is_taken_from_the_system_and_can_be_changed(open_page: Open, api: Api) -> None:
    page = open_page(api.study("themed", SPACES["band"], results=2), color_scheme="dark")
    drawn(page, "rewards", 3, "y")
    paper = "document.getElementById('rewards').layout.paper_bgcolor"
    dark, dark_paper = _background(page), page.evaluate(paper)
    page.get_by_role("button", name="Light theme").click()
    wait_until(page, f"{paper} !== '{dark_paper}'")
    light = _background(page)
    page.reload()
    expect(page.get_by_role("button", name="Dark theme")).to_be_visible()
    assert _background(page) == light
    assert sum(dark) < 150 < 600 < sum(light)


def _background(page: Page) -> list[int]:
    colour = str(page.evaluate("getComputedStyle(document.body).backgroundColor"))
    return [int(part) for part in re.findall(r"\d+", colour)[:3]]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_contrasts_with_its_background(open_page: Open, scheme: str) -> None:
    page = open_page("/", color_scheme=scheme)
    pairs = [(ink, "card") for ink in ("ink", "faint", "accent", "danger", "blue", "orange")]
    ratios = {
        pair: _contrast(_colour(page, pair[0]), _colour(page, pair[1]))
        for pair in [*pairs, ("faint", "page"), ("on-accent", "accent")]
    }
    assert {pair: ratio for pair, ratio in ratios.items() if ratio < 4.5} == {}  # WCAG 2, AA


def _colour(page: Page, name: str) -> list[int]:
    script = """name => {
        const probe = document.body.appendChild(document.createElement("i"));
        probe.style.color = `var(--${name})`;
        return getComputedStyle(probe).color;
    }"""
    return [int(part) for part in re.findall(r"\d+", page.evaluate(script, name))[:3]]


def _contrast(one: list[int], other: list[int]) -> float:
    """The contrast ratio of WCAG 2."""
    low, high = sorted(_luminance(colour) for colour in (one, other))
    return (high + 0.05) / (low + 0.05)


def _luminance(colour: list[int]) -> float:
    shares = [part / 255 for part in colour]
    linear = [s / 12.92 if s <= 0.04045 else ((s + 0.055) / 1.055) ** 2.4 for s in shares]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("view", ["list", "map", "options"])
def test_a_phone_scrolls_only_down(open_page: Open, api: Api, view: str) -> None:
    path = "/" if view == "list" else api.study(f"phone {view}", SPACES[view], results=3)
    page = open_page(path, viewport=PHONE, is_mobile=True, has_touch=True)
    if view == "list":
        expect(page.get_by_role("button", name="Create")).to_be_visible()
    else:
        drawn(page, "moves", 0, "x")
    assert page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]


SIZES: Mapping[str, ViewportSize] = {
    "phone": {"width": 375, "height": 812},
    "rotated": {"width": 812, "height": 375},
    "desk": {"width": 1280, "height": 800},
}


def test_the_heat_map_survives_rotating(open_page: Open, api: Api) -> None:
    page = open_page(api.study("rotated", SPACES["map"], results=3), viewport=SIZES["phone"])
    before = heat_map(page, 375)
    page.set_viewport_size(SIZES["rotated"])
    across = heat_map(page, 812)
    page.set_viewport_size(SIZES["desk"])
    heat_map(page, 1280)
    page.set_viewport_size(SIZES["phone"])
    assert heat_map(page, 375) == before
    assert across[0] > 1.5 * before[0]
    assert min(before[1], across[1]) > 200


def heat_map(page: Page, width: int) -> tuple[float, float]:
    """The size of the heat map, once the chart has the width of its card in this window."""
    page.wait_for_selector("#belief .main-svg")
    card = "document.getElementById('belief')"
    wait_until(page, f"innerWidth === {width} && {card}._fullLayout?.width === {card}.clientWidth")
    page.wait_for_timeout(300)
    box = page.locator("#belief .heatmaplayer image").bounding_box()
    assert box is not None
    inside = page.evaluate(f"(({{w, h}}) => [w, h])({card}._fullLayout._size)")
    assert [box["width"], box["height"]] == pytest.approx(inside, abs=2.0)  # it fills its axes
    return round(box["width"]), round(box["height"])


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("path", ["/", "/docs", "map", "options"])
def test_no_accessibility_rule_is_broken(open_page: Open, api: Api, scheme: str, path: str) -> None:
    if path in SPACES:
        path = api.study(f"axe {path} {scheme}", SPACES[path], results=3)
        api.post(f"{path}/ask", {})
    page = open_page(path, color_scheme=scheme)
    if "studies" in path:
        drawn(page, "moves", 0, "x")
    found = Axe().run(page).response
    broken = [(one["id"], [node["html"] for node in one["nodes"]]) for one in found["violations"]]
    assert broken == []
    assert len(found["passes"]) > 15


def test_the_values_have_a_log_axis_if_they_are_positive(open_page: Open, api: Api) -> None:
    page = open_page(api.study("positive", SPACES["band"]))
    for value in (1.0, 10.0, 1000.0):
        api.step("positive", value)
    page.get_by_role("button", name="Log axis").click()
    wait_until(page, "document.getElementById('rewards').layout?.yaxis.type === 'log'")
    wait_until(page, "document.getElementById('belief').layout?.yaxis.type === 'log'")
    assert min(drawn(page, "rewards", 0, "y")) > 0.0
    api.step("positive", -1.0)
    expect(page.get_by_role("button", name="Log axis")).to_be_hidden()
    wait_until(page, "document.getElementById('rewards').layout?.yaxis.type === 'linear'")


def test_long_names_lose_their_middle(open_page: Open, api: Api) -> None:
    names = [f"sensor in the north wing, floor {i}" for i in range(3)]
    page = open_page(api.study("long names", {"options": names, "policy": UNLIKE}, results=3))
    drawn(page, "belief", 1, "x")
    shown = page.locator("#belief .ytick text").all_text_contents()
    assert sorted(shown) == [f"sensor in the …wing, floor {i}" for i in range(3)]


def test_colours_span_what_is_shown(open_page: Open, api: Api) -> None:
    page = open_page(api.study("colours", SPACES["map"], results=4))
    api.step("colours", 100.0)  # an outlier
    expect(page.locator("#about")).to_contain_text("5 results")
    wait_until(page, "document.getElementById('belief').data?.[1].x.length === 5")
    z = [value for row in drawn(page, "belief", 0, "z") for value in row]
    heat = page.evaluate("document.getElementById('belief')._fullData[0]")
    assert [heat["zmin"], heat["zmax"]] == pytest.approx([min(z), max(z)])


# ---- what is served


def test_the_browser_is_told_to_run_no_other_script(api: Api) -> None:
    for path in ("/", "/docs", "/studies/any"):
        policy = httpx.get(api.url + path).headers["content-security-policy"]
        rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
        assert rules["default-src"] == "'none'"
        assert rules["script-src"] == rules["style-src"] == rules["connect-src"] == "'self'"


def test_files_are_packed_kept_and_no_others(api: Api) -> None:
    url = api.url + "/static/plotly.min.js"
    packed = httpx.get(url)
    assert packed.headers["content-encoding"] == "gzip"
    plain = httpx.get(url, headers={"Accept-Encoding": "identity"})
    assert "content-encoding" not in plain.headers
    assert plain.content == packed.content
    again = httpx.get(url, headers={"If-None-Match": packed.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    for other in ("/static/nothing.js", "/static/..%2Fpages.py", "/static/%2Fetc%2Fpasswd"):
        assert httpx.get(api.url + other).status_code == 404


# ---- running systems

LIMITED = {
    "space": {"a": REAL},
    "policy": {},
    "metrics": {"rate": "maximize", "heat": "watch"},
    "limits": {"heat": {"below": 0.6}},
    "baseline": {"a": 0.2},
}
TRADED = {
    "space": {"a": REAL},
    "policy": {},
    "metrics": {"rate": "maximize", "heat": "minimize"},
}


def run(api: Api, name: str, results: int) -> None:
    """Tell a rate that rises with heat."""
    for _ in range(results):
        ask = api.post(f"/studies/{name}/ask", {})
        a = ask["params"]["a"]
        api.post(f"/studies/{name}/tell", {"id": ask["id"], "value": {"rate": a, "heat": a**2}})


def shapes(page: Page, id: str, kind: str) -> Any:
    """The lines or rectangles of a picture, without those at a parameter's value."""
    script = f"document.getElementById('{id}').layout?.shapes?.filter(s => s.type === '{kind}')"
    found = page.evaluate(script) or []
    return [shape for shape in found if kind == "rect" or shape["y0"] == shape["y1"]]


def test_a_running_system_shows_limits_unsafe_values_the_baseline_and_reasons(
    open_page: Open, api: Api
) -> None:
    path = api.study("limited", LIMITED)
    run(api, "limited", 12)
    reason = api.post("/studies/limited/ask", {})["reason"]
    page = open_page(path)
    page.locator("#metric").select_option("heat")
    expect(page.locator("#belief-words")).to_contain_text("Limit: heat below 0.6.")
    wait_until(page, "document.getElementById('rewards').layout?.shapes?.length > 0")
    for picture in ("belief", "rewards"):
        assert [shape["y0"] for shape in shapes(page, picture, "line")] == [0.6]
    believed = api.get("/studies/limited/belief?metric=heat")
    unsafe = [
        v for v, is_safe in zip(believed["values"], believed["safe"], strict=True) if not is_safe
    ]
    shaded = shapes(page, "belief", "rect")
    assert unsafe
    assert all(any(one["x0"] <= v <= one["x1"] for one in shaded) for v in unsafe)
    assert not any(one["x0"] <= 0.2 <= one["x1"] for one in shaded)
    names = page.evaluate("document.getElementById('rewards').data.map(trace => trace.name)")
    assert "baseline, 95 %" in names
    gain = api.get("/studies/limited")["gain"]
    expect(page.locator("#gain")).to_have_text(gain["words"])
    words = {"explore": "exploring", "best": "the best now", "baseline": "the baseline again"}
    words |= {"boundary": "looking at a limit", "fallback": "the safest known"}
    expect(page.locator("#asks")).to_contain_text(words[reason])


def test_trade_offs_are_a_picture(open_page: Open, api: Api) -> None:
    path = api.study("traded", TRADED)
    run(api, "traded", 12)
    page = open_page(path)
    choices = api.get("/studies/traded/front")["choices"]
    assert len(choices) > 1
    assert drawn(page, "front", 0, "x") == [one["metrics"]["rate"]["mean"] for one in choices]
    assert drawn(page, "front", 0, "y") == [one["metrics"]["heat"]["mean"] for one in choices]


def test_the_page_says_that_nothing_is_known_to_be_safe(open_page: Open, api: Api) -> None:
    path = api.study("hot", LIMITED)
    for step in range(8):
        ask = api.post("/studies/hot/ask", {})
        value = {"rate": 0.1 * step, "heat": 2.0}
        api.post("/studies/hot/tell", {"id": ask["id"], "value": value})
    page = open_page(path)
    expect(page.locator("#best")).to_contain_text("Nothing is known to keep all limits now.")
