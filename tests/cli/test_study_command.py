"""``heliotrope study``: output, stores and services, errors."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner, Result

import heliotrope as ht
from heliotrope.cli import app as all_commands
from heliotrope.cli.study import study_app
from heliotrope.storage import open_store
from heliotrope.storage.protocol import DEFAULT_STORE
from served import Served

SPACE = (
    '{"fan": {"type": "integer", "low": 1, "high": 8}, "x": {"type": "real", "low": 0, "high": 1}}'
)
NOISE = ("value", "std", "n", "successes", "trials", "count", "exposure")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A separate working directory, without environment variables."""
    monkeypatch.chdir(tmp_path)
    for name in ("HELIOTROPE_STORE", "HELIOTROPE_TOKEN", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def invoke(*arguments: str, stdin: str = "", **env: str) -> Result:
    return CliRunner().invoke(study_app, [*arguments], input=stdin, env={"COLUMNS": "120", **env})


def run(*arguments: str, **env: str) -> Any:
    """The output of a command that succeeds."""
    result = invoke(*arguments, **env)
    assert result.exit_code == 0, result.output
    assert result.stderr == ""
    assert result.stdout.count("\n") == 1
    return json.loads(result.stdout)


def assert_refused(result: Result, said: str, code: int = 1) -> None:
    assert result.exit_code == code, result.output
    assert said in result.stderr
    assert result.stdout == ""
    assert isinstance(result.exception, SystemExit)
    if code == 1:
        assert result.stderr.startswith("heliotrope: ")
        assert result.stderr.count("\n") == 1


def test_a_study_from_beginning_to_end(folder: Path) -> None:
    assert run("create", "boiler", "--space", SPACE, "--minimize", "--seed", "3") == {
        "created": "boiler"
    }
    first = run("ask", "boiler")
    assert first.keys() == {"id", "t", "params"}
    assert first["params"].keys() == {"fan", "x"}
    assert run("tell", "boiler", first["id"], "-1.5") == {"told": first["id"]}
    assert run("tell", "boiler", first["id"], "-1.5") == {"told": first["id"]}
    second = run("ask", "boiler", "--t", "7.5", "--key", "mine")
    assert second["t"] == 7.5
    assert run("ask", "boiler", "--key", "mine") == second
    assert run("cancel", "boiler", second["id"]) == {"cancelled": second["id"]}
    shown = run("show", "boiler")
    assert (shown["asked"], shown["told"], shown["open"]) == (2, 1, [])
    assert shown["best"]["params"].keys() == {"fan", "x"}
    (listed,) = run("list")
    assert (listed["name"], listed["events"]) == ("boiler", shown["events"])
    assert run("delete", "boiler", "--yes") == {"deleted": "boiler"}
    assert run("list") == []
    assert (folder / "heliotrope.db").exists()


def test_the_study_is_that_of_the_library() -> None:
    run("create", "boiler", "--space", SPACE, "--clock", "10min", "--seed", "3")
    run("ask", "boiler")
    study = ht.Study.open("boiler")
    assert study.config.to_json() == {
        "space": study.config.space.to_json(),
        "policy": {"kind": "auto"},
        "direction": "maximize",
        "clock": {"kind": "wall", "unit": "10min"},
        "seed": 3,
    }
    assert [ask.id for ask in study.open_asks()] == [run("show", "boiler")["open"][0]["id"]]


def test_negative_values_are_not_read_as_options() -> None:
    run("create", "sensors", "--options", "hall, roof")
    for value in ("-1", "-.5", "-1e-3", "1e5", "0"):
        asked = run("ask", "sensors")
        assert asked["option"] in ("hall", "roof")
        run("tell", "sensors", asked["id"], value)
    told = [
        event.body["value"]["value"]
        for event in ht.Study.open("sensors").events()[1:]
        if "value" in event.body
    ]
    assert told == [-1.0, -0.5, -0.001, 1e5, 0.0]


def test_setups_may_come_from_files(folder: Path) -> None:
    (folder / "space.json").write_text(SPACE)
    (folder / "policy.json").write_text('{"kind": "gp_ucb", "beta": 2.0}')
    run("create", "boiler", "--space", "space.json", "--policy", "policy.json")
    assert ht.Study.open("boiler").config.policy.to_json() == {"kind": "gp_ucb", "beta": 2.0}


def test_options_may_have_features() -> None:
    options = '[{"name": "a, b", "features": [1.0]}, {"name": "c", "features": [2.0]}]'
    run("create", "sensors", "--options", options, "--policy", '{"kind": "uniform"}')
    assert ht.Study.open("sensors").config.to_json()["options"] == json.loads(options)


def test_the_store_may_be_elsewhere(folder: Path) -> None:
    store = f"sqlite:///{folder / 'other.db'}"
    run("create", "boiler", "--space", SPACE, "--at", store)
    assert [info["name"] for info in run("list", HELIOTROPE_STORE=store)] == ["boiler"]
    assert not (folder / "heliotrope.db").exists()
    assert run("ask", "boiler", HELIOTROPE_STORE=store, HELIOTROPE_TOKEN="of a service")["t"] == 1.0


def test_looking_makes_no_store(folder: Path) -> None:
    for command in (["list"], ["show", "boiler"], ["ask", "boiler"], ["delete", "boiler"]):
        assert_refused(invoke(*command), "heliotrope.db, which does not exist")
    assert list(folder.iterdir()) == []


def test_results_are_exported(folder: Path) -> None:
    run("create", "sensors", "--options", "hall,roof")
    asked = run("ask", "sensors")
    run("tell", "sensors", asked["id"], "2.5")
    printed = invoke("export", "sensors")
    (row,) = csv.DictReader(io.StringIO(printed.stdout))
    assert (row["id"], row["option"], row["value"]) == (asked["id"], asked["option"], "2.5")
    assert invoke("export", "sensors", "--out", "out.csv").stdout == "Wrote out.csv\n"
    assert (folder / "out.csv").read_bytes() == printed.stdout_bytes
    (result,) = json.loads(invoke("export", "sensors", "--kind", "json").stdout)["results"]
    assert result["value"] == 2.5
    assert_refused(invoke("export", "sensors", "--out", "no/out.csv"), "cannot use no/out.csv")
    assert_refused(invoke("export", "sensors", "--kind", "xml"), "--kind", code=2)


def test_many_studies_are_listed() -> None:
    names = [f"study {number:03}" for number in range(101)]  # more than a store lists by default
    with closing(open_store(DEFAULT_STORE)) as store:
        for name in names:
            store.create(name, {}, at=0.0)
    assert [info["name"] for info in run("list")] == names


def test_terminals_get_tables() -> None:
    run("create", "sensors", "--options", "hall[/b],[red]roof")
    asked = run("ask", "sensors")
    listed, shown = (
        invoke(*command, FORCE_COLOR="1").stdout for command in (["list"], ["show", "sensors"])
    )
    assert "events" in listed
    assert "sensors" in listed
    assert f"{asked['id']}: {asked['option']}" in shown
    assert "0 of 1 asked" in shown
    assert "unknown" in shown
    run("tell", "sensors", asked["id"], "2.5")
    told = invoke("show", "sensors", FORCE_COLOR="1").stdout
    assert "2.5 ±" in told
    assert "drifts with a half-life" in told
    assert run("show", "sensors", "--json", FORCE_COLOR="1")["told"] == 1
    assert len(run("list", "--json", FORCE_COLOR="1")) == 1


def test_contexts_are_given_and_shown(folder: Path) -> None:
    (folder / "weather.json").write_text('{"outside": {"type": "real", "low": -10, "high": 40}}')
    run("create", "boiler", "--space", SPACE, "--context", "weather.json")
    assert run("show", "boiler")["context"] == {"outside": 15.0}
    asked = run("ask", "boiler", "--context", '{"outside": 21.5}', "--key", "mine")
    assert asked["context"] == {"outside": 21.5}
    shown = invoke("show", "boiler", FORCE_COLOR="1").stdout
    assert "outside 21.5" in shown
    assert "(at outside 21.5)" in shown
    run("tell", "boiler", asked["id"], "1.5")
    there = run("show", "boiler", "--context", '{"outside": -5}')
    assert there["context"] == there["best"]["context"] == {"outside": -5.0}
    assert_refused(invoke("ask", "boiler"), "context: expected a context of ['outside']; got none.")
    assert_refused(invoke("ask", "boiler", "--context", '{"outside": 50}'), "context.outside")
    assert_refused(invoke("show", "boiler", "--context", "{"), "a JSON file for --context")


def test_results_from_elsewhere_are_added(folder: Path) -> None:
    run("create", "boiler", "--space", SPACE)
    place = {"fan": 3, "x": 0.25}
    added = run("add", "boiler", "-1.5", "--params", json.dumps(place), "--t", "4", "--key", "one")
    assert (added["params"], added["t"]) == (place, 4.0)
    (folder / "place.json").write_text(json.dumps(place))
    again = ["add", "boiler", "-1.5", "--params", "place.json", "--key", "one"]
    assert run(*again) == added
    assert run("show", "boiler")["told"] == 1
    for wrong, said in (
        (["-2"], "either params or an option; got neither"),
        (["-2", "--params", "{}", "--option", "x"], "either params or an option; got both"),
        (["-2", "--params", "{"], "JSON or a JSON file for --params"),
        (
            ["-2", "--params", '{"fan": 9, "x": 0}'],
            "params.fan: expected a whole number from 1 to 8; got 9.",
        ),
        (["-2", "--params", "place.json", "--t", "3"], "a time of at least 4"),
        (["-2", "--params", "place.json", "--key", "one"], "that was told before"),
        (["nan", "--params", "place.json"], "finite"),
    ):
        assert_refused(invoke("add", "boiler", *wrong), said)
    assert run("show", "boiler")["asked"] == 1


def test_results_of_options_and_in_contexts_are_added() -> None:
    weather = '{"outside": {"type": "real", "low": -10, "high": 40}}'
    run("create", "sensors", "--options", "hall,roof", "--context", weather)
    added = run("add", "sensors", "2", "--option", "roof", "--context", '{"outside": 21.5}')
    assert (added["option"], added["context"]) == ("roof", {"outside": 21.5})
    assert_refused(invoke("add", "sensors", "2", "--option", "roof"), "a context of ['outside']")


TABLE = "t,fan,x,value\n1,3,0.5,1.5\n2,4,0.25,2.5\n2,4,0.25,2.5\n"


def imported(*arguments: str, **env: str) -> Any:
    result = invoke("import", *arguments, **env)
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_a_table_is_brought_in_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("heliotrope.study.asks._CLOSED", 1)
    (folder / "log.csv").write_text(TABLE)
    run("create", "boiler", "--space", SPACE)
    assert imported("boiler", "log.csv") == {"added": 3, "known": 0}
    assert imported("boiler", "log.csv") == {"added": 0, "known": 3}
    asked = run("ask", "boiler")
    run("tell", "boiler", asked["id"], "1")
    (folder / "longer.csv").write_text(f"{TABLE}7,8,1,3.5\n")
    assert imported("boiler", "longer.csv") == {"added": 1, "known": 3}
    results = ht.Study.open("boiler").track()["results"]
    assert [one["value"] for one in results] == [1.5, 2.5, 2.5, 1.0, 3.5]
    assert [one["t"] for one in results] == [1.0, 2.0, 2.0, 3.0, 7.0]


def test_an_interrupted_import_continues(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "log.csv").write_text(TABLE)
    run("create", "boiler", "--space", SPACE)
    do, left = ht.Study.do, [1]

    def fail(*arguments: Any, **others: Any) -> Any:
        if not left:
            raise ht.HeliotropeError("a store", "none")
        left.pop()
        return do(*arguments, **others)

    monkeypatch.setattr(ht.Study, "do", fail)
    result = invoke("import", "boiler", "log.csv")
    assert (result.exit_code, "expected a store" in result.stderr) == (1, True)
    monkeypatch.setattr(ht.Study, "do", do)
    assert imported("boiler", "log.csv") == {"added": 2, "known": 1}
    assert run("show", "boiler")["told"] == 3


def test_rows_without_a_time_are_all_of_now_by_a_wall_clock(folder: Path) -> None:
    (folder / "log.csv").write_text("option,value\nhall,1\nroof,2\nhall,3\n")
    for name, clock in (("sensors", ["--clock", "1h"]), ("steps", [])):
        run("create", name, "--options", "hall,roof", *clock)
        assert imported(name, "log.csv") == {"added": 3, "known": 0}
    times = {
        name: [event.body["t"] for event in ht.Study.open(name).events() if "t" in event.body]
        for name in ("sensors", "steps")
    }
    assert len(set(times["sensors"])) == 1
    assert times["steps"] == [1.0, 2.0, 3.0]


def test_a_table_that_does_not_fit_changes_nothing(folder: Path) -> None:
    run("create", "boiler", "--space", SPACE)
    (folder / "log.csv").write_text(f"{TABLE}3,9,0.5,1\n")
    assert_refused(invoke("import", "boiler", "log.csv"), "got 9.0 on line 5 of log.csv")
    assert_refused(invoke("import", "boiler", "missing.csv"), "missing.csv")
    assert run("show", "boiler")["asked"] == 0


def test_parameters_are_shown() -> None:
    run("create", "boiler", "--space", SPACE)
    asked = run("ask", "boiler")["params"]
    shown = invoke("show", "boiler", FORCE_COLOR="1").stdout
    assert f"fan {asked['fan']}, x {asked['x']:.4g}" in shown


@pytest.mark.parametrize("answer", ["n\n", "\n", ""])
def test_deleting_is_confirmed(answer: str) -> None:
    run("create", "sensors", "--options", "hall,roof")
    result = invoke("delete", "sensors", stdin=answer)
    assert result.exit_code == 1
    assert "Delete sensors with all its events?" in result.stderr
    assert len(run("list")) == 1
    agreed = invoke("delete", "sensors", stdin="y\n")
    assert agreed.stdout.splitlines()[-1] == '{"deleted": "sensors"}'
    assert run("list") == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--space", "{"], "JSON or a JSON file for --space"),
        (["--space", ""], "JSON or a JSON file for --space"),
        (["--space", "[" * 100_000], "JSON or a JSON file for --space"),
        (["--space", "missing.json"], "got 'missing.json' (No such file"),
        (["--space", "."], "got '.' (Is a directory"),
        (["--space", '{"x": {"type": "real", "low": 1, "high": 0}}'], "x.high"),
        (["--space", "[]"], "space"),
        (["--options", ""], "options"),
        (["--options", "a,a"], "'a' twice"),
        (["--options", "[1"], "for --options"),
        ([], "either a space or options; got neither"),
        (["--options", "a,b", "--space", SPACE], "got both"),
        (["--options", "a,b", "--policy", '{"kind": "best"}'], "policy.kind"),
        (["--options", "a,b", "--clock", "often"], "clock.unit"),
        (["--options", "a,b", "--context", "{}"], "context: expected 1 to 100 parameters; got 0."),
        (["--options", "a,b", "--at", "mysql://host/name"], "the URL of a store"),
        (["--options", "a,b", "--at", "memory"], "the URL of a store"),
        (["--options", "a,b", "--at", "memory:"], "a store that outlives the command"),
    ],
)
def test_bad_setups_are_refused(arguments: list[str], said: str, folder: Path) -> None:
    assert_refused(invoke("create", "boiler", *arguments), said)
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("name", ["", "../boiler", "a" * 101])
def test_bad_names_are_refused(name: str) -> None:
    assert_refused(invoke("create", name, "--options", "a,b"), "name of a study")


def test_results_may_have_their_own_noise() -> None:
    run("create", "sensors", "--options", "hall,roof")
    forms = [
        ("-1.5", "--std", "0.25"),
        ("--n", "4", "-1.5"),
        ("--successes", "3", "--trials", "10"),
        ("--count", "0", "--exposure", "2.5"),
    ]
    for form in forms:
        asked = run("ask", "sensors")["id"]
        assert run("tell", "sensors", asked, *form) == {"told": asked}
        assert run("tell", "sensors", asked, *form) == {"told": asked}
        run("add", "sensors", *form, "--option", "roof")
    rows = list(csv.DictReader(io.StringIO(invoke("export", "sensors").stdout)))
    for row, other in zip(rows[::2], rows[1::2], strict=True):
        assert [row[name] for name in NOISE] == [other[name] for name in NOISE]
    assert [[row[name] for name in NOISE if row[name]] for row in rows[::2]] == [
        ["-1.5", "0.25"],
        ["-1.5", "4"],
        ["0.3", "3", "10"],
        ["0.0", "0", "2.5"],
    ]


def test_a_wrong_noise_is_refused() -> None:
    run("create", "sensors", "--options", "hall,roof")
    asked = run("ask", "sensors")["id"]
    assert_refused(invoke("tell", "sensors", asked), "a value")
    assert_refused(invoke("tell", "sensors", asked, "1", "--std", "0"), "std to be above zero")
    assert_refused(invoke("tell", "sensors", asked, "1", "--n", "0"), "n to be a whole number")
    assert_refused(invoke("tell", "sensors", asked, "1", "--successes", "1"), "successes")
    assert_refused(invoke("add", "sensors", "--count", "1", "--option", "roof"), "exposure")
    run("tell", "sensors", asked, "1", "--std", "2")
    assert_refused(invoke("tell", "sensors", asked, "1"), "the noise that was told before")


def test_what_a_study_refuses_is_refused() -> None:
    run("create", "sensors", "--options", "hall,roof")
    assert_refused(
        invoke("create", "sensors", "--options", "hall,roof"), "a name that no study has"
    )
    asked = run("ask", "sensors")
    run("tell", "sensors", asked["id"], "1")
    assert_refused(invoke("tell", "sensors", asked["id"], "2"), "that was told before")
    assert_refused(invoke("tell", "sensors", "nonsense", "2"), "id of an ask")
    assert_refused(invoke("tell", "sensors", asked["id"], "nan"), "finite")
    assert_refused(invoke("cancel", "sensors", asked["id"]), "has its result")
    assert_refused(invoke("ask", "sensors", "--t", "-5"), "a time of at least")
    assert_refused(invoke("ask", "boiler"), "'boiler'")


@pytest.mark.parametrize(
    ("arguments", "said", "command"),
    [
        (["study", "tell", "sensors", "id", "much"], "a number; got 'much'.", "study tell"),
        (["study", "tell", "sensors", "id", "1", "--n", "2.5"], "got '2.5'.", "study tell"),
        (["study", "tell", "sensors", "id", "1", "--colour"], "(--colour)", "study tell"),
        (
            ["study", "tell", "sensors", "id", "1", "2"],
            "once for each metric; got '1 2'.",
            "study tell",
        ),
        (["study", "tell", "a", "id", "p=1", "2"], "got 'p=1 2'.", "study tell"),
        (["study", "tell", "a", "id", "p=1", "p=2"], "got 'p=1 p=2'.", "study tell"),
        (["study", "tell", "a", "id", "p=1", "--std", "p=1,p=2"], "got 'p=1 p=2'.", "study tell"),
        (["study", "ask", "sensors", "--t", "now"], "'--t': ", "study ask"),
        (["study", "add", "a", "much", "--option", "b"], "got 'much'.", "study add"),
        (["study", "add", "a", "1", "--colour"], "(--colour)", "study add"),
        (["study", "ask", "sensors", "--tim", "5"], "No such option: --tim", "study ask"),
        (["study", "create", "a", "--seed", "-1"], "got '-1'.", "study create"),
        (["study", "list", "--token-file", "missing"], "'missing' does not exist.", "study list"),
        (["study", "aks", "sensors"], "No such command 'aks'", "study"),
        (["serve", "--port", "65536"], "less than or equal to 65535; got '65536'.", "serve"),
        (["--nothing"], "No such option: --nothing.", ""),
    ],
)
def test_wrong_usage_is_reported_in_one_line(arguments: list[str], said: str, command: str) -> None:
    result = CliRunner().invoke(all_commands, arguments, prog_name="heliotrope")
    assert_refused(result, said, code=2)
    assert result.stderr.startswith("heliotrope: ")
    assert result.stderr.endswith(f"Try {f'heliotrope {command}'.strip()} --help.\n")
    assert result.stderr.count("\n") == 1


def test_no_arguments_print_the_help() -> None:
    for arguments in ([], ["study"]):
        result = CliRunner().invoke(all_commands, arguments)
        assert "Usage: " in result.output
        assert "heliotrope: " not in result.output


def test_the_help_names_every_command() -> None:
    for app in (all_commands, study_app):
        command: Any = typer.main.get_command(app)
        result = CliRunner().invoke(app, ["--help"], env={"COLUMNS": "120"})
        assert all(f"│ {name} " in result.output for name in command.apps)


def test_the_package_is_the_command() -> None:
    command = [sys.executable, "-m", "heliotrope", "--version"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == f"heliotrope {ht.__version__}\n"


def test_serve_says_where_the_studies_are(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started = list[str]()
    monkeypatch.setattr("uvicorn.run", lambda app, **_: started.append(app))
    monkeypatch.setattr("heliotrope.service.running.pass_on", lambda *_, **__: None)
    ht.Study.create("one", ht.SearchSpace({"x": ht.Real(0.0, 1.0)}), store="sqlite:///a.db")
    result = CliRunner().invoke(all_commands, ["serve", "--store", "sqlite:///a.db", "--port", "0"])
    assert result.stderr == f"1 study in {folder / 'a.db'}\n"
    assert len(started) == 1


TOKEN = "a-token-that-nobody-may-see"


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with Served("memory:", TOKEN) as running:
        yield running


def test_studies_of_a_service(served: Served, folder: Path) -> None:
    (folder / "token").write_text(f"# of mine\n\n{TOKEN}\nanother-one\n")
    there = {"HELIOTROPE_STORE": served.url, "HELIOTROPE_TOKEN": TOKEN}
    by_file = ("--at", served.url, "--token-file", "token")
    assert run("create", "boiler", "--space", SPACE, *by_file) == {"created": "boiler"}
    first, second = run("ask", "boiler", **there), run("ask", "boiler", *by_file)
    assert run("tell", "boiler", first["id"], "-1.5", **there) == {"told": first["id"]}
    assert run("cancel", "boiler", second["id"], **there) == {"cancelled": second["id"]}
    added = run("add", "boiler", "3", "--params", '{"fan": 2, "x": 0.5}', **there)
    assert added["params"] == {"fan": 2, "x": 0.5}
    (folder / "log.csv").write_text("fan,x,value\n2,0.5,4\n")
    assert imported("boiler", "log.csv", **there) == {"added": 1, "known": 0}
    assert imported("boiler", "log.csv", *by_file) == {"added": 0, "known": 1}
    assert run("show", "boiler", **there)["told"] == 3
    assert [info["name"] for info in run("list", *by_file)] == ["boiler"]
    assert f"{first['id']},1.0," in invoke("export", "boiler", **there).stdout
    assert_refused(invoke("tell", "boiler", first["id"], "2", **there), "that was told before")
    assert run("delete", "boiler", "--yes", **there) == {"deleted": "boiler"}
    assert_refused(invoke("show", "boiler", **there), "'boiler'")
    assert {path.name for path in folder.iterdir()} == {"token", "log.csv"}


def test_a_url_with_a_path_is_refused(served: Served) -> None:
    result = invoke("list", "--at", f"{served.url}/api", HELIOTROPE_TOKEN=TOKEN)
    assert_refused(result, "it ends before /api, as in http://127.0.0.1:8765.")


@pytest.mark.parametrize("content", [b"", b"# nothing\n", b"wrong-token-of-mine", b"\xff\xfe"])
def test_a_token_is_needed(served: Served, folder: Path, content: bytes) -> None:
    (folder / "token").write_bytes(content)
    result = invoke("list", "--at", served.url, "--token-file", "token")
    assert_refused(result, "token")
    assert "wrong-token" not in result.output
    assert_refused(invoke("list", "--at", served.url), "a token that the service accepts")


def test_a_missing_service(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("heliotrope.client.transport.sleep", lambda _: None)
    result = invoke("list", "--at", "http://127.0.0.1:1", HELIOTROPE_TOKEN=TOKEN)
    assert_refused(result, "an answer from http://127.0.0.1:1/api/")
    assert TOKEN not in result.output
    assert_refused(invoke("list", "--at", f"http://me:{TOKEN}@there"), "the URL of a service")


def test_a_study_can_start_from_a_similar_one() -> None:
    run("create", "one", "--options", "hall, roof, yard")
    for _ in range(12):
        ask = run("ask", "one")
        run("tell", "one", ask["id"], {"hall": "1", "roof": "5", "yard": "2"}[ask["option"]])
    run("create", "two", "--options", "hall, roof, yard", "--like", "one", "--seed", "4")
    assert run("ask", "two")["option"] == "roof"
    result = invoke("create", "three", "--options", "hall, roof", "--like", "nobody")
    assert_refused(result, "nobody")
