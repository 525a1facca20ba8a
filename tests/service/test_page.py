"""The pages in a real browser: create, ask, tell, follow, replay, on a desktop and a phone."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest
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
    page.get_by_label("Name", exact=True).fill("by hand")
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
    alert, described = page.get_by_role("alert"), page.get_by_label("Parameters, as JSON")
    page.get_by_label("Name", exact=True).fill("wrong")
    described.fill('{"a": ')
    page.get_by_role("button", name="Create").click()
    expect(alert).to_contain_text("Parameters is not JSON")

    described.fill('{"a": {"type": "real", "low": 2, "high": 1}}')
    page.get_by_role("button", name="Create").click()
    expect(alert).to_contain_text("low")
    expect(described).to_have_attribute("aria-invalid", "true")
    expect(described).to_be_focused()
    assert "wrong" not in [study["name"] for study in api.get("/studies")["studies"]]

    alert.get_by_role("button", name="Close").click()
    expect(alert).to_be_empty()


def test_the_kind_of_study_changes_the_example_but_not_what_was_typed(open_page: Open) -> None:
    page = open_page("/")
    described = page.locator("textarea[name=described]")
    page.get_by_label("one of several named options").check()
    assert json.loads(described.input_value()) == ["hall", "roof", "cellar"]
    described.fill('["mine"]')
    page.get_by_label("values of parameters").check()
    expect(described).to_have_value('["mine"]')


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
    page.get_by_label("Name", exact=True).fill("in the weather")
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
    wait_until(page, "document.getElementById('belief').data[0].zmin === 0")
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


# ---- what is served


def test_the_browser_is_told_to_run_no_other_script(api: Api) -> None:
    for path in ("/", "/studies/any"):
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
