"""Take the pictures of the page in docs, with the browser and the service of the tests."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import httpx
import numpy as np
from playwright.sync_api import Browser, Page, ViewportSize

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from browser import launched  # noqa: E402
from heliotrope.service import create_app  # noqa: E402
from serving import post, serving  # noqa: E402

Measure = Callable[[dict[str, Any], float], "float | dict[str, float]"]
SENSORS = ["hall", "roof", "cellar", "kitchen", "attic", "north wall", "south wall"]
DESK: ViewportSize = {"width": 1280, "height": 900}
PHONE: ViewportSize = {"width": 375, "height": 812}
ROTATED: ViewportSize = {"width": 812, "height": 375}


def boiler(ask: dict[str, Any], t: float) -> float:
    """A hill that moves around the middle."""
    heat, fan = ask["params"]["temperature"], ask["params"]["airflow"]
    phase = t / 25.0
    a, b = (heat - 20 - 3 * math.sin(phase)) / 2.5, (fan - 50 - 30 * math.cos(phase)) / 25.0
    return 2.0 * math.exp(-a * a - b * b)


def comfort(ask: dict[str, Any], t: float) -> float:
    """A fan that has to run faster on hotter days."""
    off = (
        ask["params"]["fan"] - (ask["context"]["outside"] + 10.0) / 50.0 - 0.1 * math.sin(t / 30.0)
    )
    return 20.0 + 5.0 * math.exp(-((off / 0.25) ** 2))


def warmth(ask: dict[str, Any], t: float) -> float:
    """Seven sensors, each of which is the warmest for a while."""
    return 20.0 + 2.0 * math.sin(SENSORS.index(ask["option"]) + t / 30.0)


def rate(ask: dict[str, Any], t: float) -> float:
    """A peak over the logarithm of a rate."""
    u = (math.log10(ask["params"]["rate"]) + 2.0 + 0.8 * math.sin(t / 20.0)) / 0.6
    return 5.0 * math.exp(-u * u)


def serving_well(ask: dict[str, Any], t: float) -> dict[str, float]:
    """More workers answer more requests, each of them later; the load changes slowly."""
    workers, batch = ask["params"]["workers"], ask["params"]["batch"]
    load = 20.0 * math.sin(t / 20.0)
    return {
        "throughput": 500.0 + 40.0 * workers - 0.5 * batch + load,
        "p99": 60.0 + 8.0 * workers + 0.8 * batch + 0.3 * load,
    }


STUDIES: Mapping[str, tuple[dict[str, Any], Measure, int]] = {
    "boiler": (
        {
            "space": {
                "temperature": {"type": "real", "low": 15, "high": 25},
                "airflow": {"type": "real", "low": 10, "high": 90},
            }
        },
        boiler,
        80,
    ),
    "learning rate": (
        {"space": {"rate": {"type": "real", "low": 1e-4, "high": 1.0, "log": True}}},
        rate,
        60,
    ),
    "sensors": ({"options": SENSORS}, warmth, 80),
    "fan": (
        {
            "space": {"fan": {"type": "real", "low": 0, "high": 1}},
            "context": {"outside": {"type": "real", "low": -10, "high": 40}},
        },
        comfort,
        60,
    ),
    "web": (
        {
            "space": {
                "workers": {"type": "integer", "low": 1, "high": 16},
                "batch": {"type": "integer", "low": 8, "high": 64, "step": 8},
            },
            "metrics": {"throughput": "maximize", "p99": "watch"},
            "limits": {"p99": {"below": 200.0}},
            "baseline": {"workers": 8, "batch": 32},
        },
        serving_well,
        30,
    ),
}


def fill(client: httpx.Client) -> None:
    """Create the studies and run them."""
    noise = np.random.default_rng(0)
    for name, (described, measure, steps) in STUDIES.items():
        post(client, "", name=name, **described)
        for step in range(steps):
            ask = post(client, f"/{name}/ask", **weather(described, step))
            value = noisy(measure(ask, ask["t"]), noise)
            post(client, f"/{name}/tell", id=ask["id"], value=value)
        post(client, f"/{name}/ask", **weather(described, steps))


def noisy(value: float | dict[str, float], noise: np.random.Generator) -> Any:
    """A value, or values by metric, as they are measured."""
    if isinstance(value, dict):
        return {name: one + 3.0 * noise.standard_normal() for name, one in value.items()}
    return value + 0.1 * noise.standard_normal()


def weather(described: Mapping[str, Any], step: int) -> dict[str, Any]:
    """The context of an ask, if the study has one: warmer and colder days."""
    if "context" not in described:
        return {}
    return {"context": {"outside": round(15.0 + 24.0 * math.sin(0.8 * step), 1)}}


def take(
    browser: Browser, url: str, picture: str, *, metric: str | None = None, **options: Any
) -> None:
    """Take a picture of a whole page once everything on it is drawn."""
    page = browser.new_page(**options)
    page.goto(url)
    if "/studies/" in url:
        for id in ("belief", "rewards", "moves"):
            page.wait_for_selector(f"#{id} .main-svg", timeout=60_000)
    if not url.endswith("/docs"):
        page.get_by_text("Live", exact=True).wait_for()
    if metric is not None:
        page.get_by_label("Metric").select_option(metric)
    shoot(page, picture, full_page=not url.endswith("/docs"))
    page.close()


def rotate(browser: Browser, url: str, **options: Any) -> None:
    """Take pictures of a phone before, while and after it is rotated."""
    page = browser.new_page(**options)
    page.goto(url)
    page.wait_for_selector("#moves .main-svg", timeout=60_000)
    shoot(page, "phone")
    page.set_viewport_size(ROTATED)
    shoot(page, "rotated")
    page.set_viewport_size(PHONE)
    shoot(page, "rotated-back")
    page.close()


def shoot(page: Page, picture: str, *, full_page: bool = True) -> None:
    page.wait_for_timeout(1_500)
    page.screenshot(path=ROOT / "docs" / "images" / f"page-{picture}.png", full_page=full_page)


def main() -> None:
    """Take them all."""
    with serving(create_app("memory:")) as client, launched() as browser:
        fill(client)
        url = str(client.base_url).rstrip("/")
        at = f"{url}/studies"
        phone = {"viewport": PHONE, "is_mobile": True, "has_touch": True}
        take(browser, f"{at}/boiler", "map", viewport=DESK)
        take(browser, f"{at}/sensors", "options", viewport=DESK, color_scheme="dark")
        take(browser, f"{at}/learning rate", "band", viewport=DESK)
        take(browser, f"{at}/fan", "context", viewport=DESK, color_scheme="dark")
        take(browser, f"{at}/web", "live", metric="p99", viewport=DESK)
        rotate(browser, f"{at}/boiler", **phone)
        take(browser, url, "list", viewport=DESK)
        take(browser, f"{url}/docs", "docs", viewport=DESK)


if __name__ == "__main__":
    main()
