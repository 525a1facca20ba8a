"""Tune a running HTTP server: as many requests as possible, with a limit on the slowest ones.

A small server answers requests in batches. Its worker threads, its batch size and the length of its
queue are tuned while it is loaded lightly, heavily and in bursts. What is measured: the answers per
second, which should be high, and the time that 99 of 100 answers take at most (p99), which must
stay below a limit. The tuner is not told which load it meets. The default setting, and the best
fixed setting that Optuna finds with as many measurements, run beside it under the same load.

Run it: python examples/tune_a_server.py    (about four minutes; it draws out/tune_a_server.png)
"""

import http.client
import http.server
import json
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import heliotrope as ht
from heliotrope.live import Live

SPACE = ht.SearchSpace(
    {
        "workers": ht.Integer(1, 12),
        "batch": ht.Integer(1, 8),
        "queue": ht.Integer(4, 64, step=4),
    }
)
DEFAULT = {"workers": 2, "batch": 2, "queue": 32}
LIMIT = 0.5  # seconds, of p99
BURST = 0.8  # seconds from one burst to the next, of which half are quiet
LOADS = {"light": 4, "heavy": 24, "bursts": 24}  # clients

Setting = Mapping[str, int]

# ---- the server


class Server(http.server.ThreadingHTTPServer):
    """Puts requests into a bounded queue; workers answer them in batches."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self._connections = threading.Semaphore(6)  # of the database
        self._stop = threading.Event()
        self.apply(DEFAULT)

    def apply(self, setting: Setting) -> None:
        """Replace the queue and the workers."""
        self._stop.set()
        self.waiting: queue.Queue[threading.Event] = queue.Queue(setting["queue"])
        self._stop = threading.Event()
        for _ in range(setting["workers"]):
            work = (self.waiting, setting["batch"], self._stop)
            threading.Thread(target=self._work, args=work, daemon=True).start()

    def _work(
        self, waiting: "queue.Queue[threading.Event]", size: int, stop: threading.Event
    ) -> None:
        while not stop.is_set() or not waiting.empty():
            batch = list(taken(waiting, size))
            if batch:
                with self._connections:
                    time.sleep(0.03 + 0.006 * len(batch))  # one query for the whole batch
            for done in batch:
                done.set()


def taken(waiting: "queue.Queue[threading.Event]", size: int) -> Iterator[threading.Event]:
    """Up to ``size`` requests; wait a little for the batch to fill."""
    end = time.monotonic() + 0.1
    for _ in range(size):
        try:
            yield waiting.get(timeout=max(end - time.monotonic(), 0.0))
        except queue.Empty:
            return
        end = min(end, time.monotonic() + 0.02)


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers when a worker is done, or refuses at once if the queue is full."""

    protocol_version = "HTTP/1.1"
    server: Server

    def do_GET(self) -> None:
        done, code = threading.Event(), 200
        try:
            self.server.waiting.put_nowait(done)
            done.wait(2.0)
        except queue.Full:
            code = 503
        self._answer(code)

    def do_PUT(self) -> None:
        """Apply the setting in the body."""
        size = int(self.headers["Content-Length"])
        self.server.apply(json.loads(self.rfile.read(size)))
        self._answer(200)

    def _answer(self, code: int) -> None:
        self.send_response(code)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Print nothing."""


def serve() -> None:
    """Run the server, and print its port."""
    server = Server()
    print(server.server_port, flush=True)
    server.serve_forever()


# ---- the load


@dataclass(frozen=True)
class Measurement:
    """Answers per second, and the time in which 99 of 100 answers came."""

    rate: float
    p99: float


def ask_repeatedly(port: int, load: str, start: float, end: float, times: list[float]) -> None:
    """One client: ask, wait for the answer, pause; note the times of answers.

    Clients go on until one of them had an answer, however slow the machine is.
    """
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5.0)
    while (now := time.monotonic()) < end or not times:
        if load == "bursts" and (now - start) % BURST > BURST / 2:
            time.sleep(0.04)
            continue
        connection.request("GET", "/")
        answer = connection.getresponse()
        answer.read()
        if answer.status == 200:
            times.append(time.monotonic() - now)
        time.sleep(0.04 if load == "light" or answer.status != 200 else 0.002)
    connection.close()


def measure(port: int, setting: Setting, load: str, seconds: float) -> Measurement:
    """Apply a setting, load the server for a while, and measure."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5.0)
    connection.request("PUT", "/", json.dumps(dict(setting)))
    connection.getresponse().read()
    connection.close()
    times: list[float] = []
    start = time.monotonic()
    work = (port, load, start, start + seconds, times)
    clients = [threading.Thread(target=ask_repeatedly, args=work) for _ in range(LOADS[load])]
    for client in clients:
        client.start()
    for client in clients:
        client.join()
    rate = len(times) / (time.monotonic() - start)
    return Measurement(rate, float(np.quantile(times, 0.99)))


# ---- tuning


def best_fixed(port: int, schedule: Sequence[str], seconds: float) -> dict[str, int]:
    """The setting that Optuna finds best over a schedule of loads, with the limit on p99."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    sampler = optuna.samplers.TPESampler(seed=0)
    study = optuna.create_study(direction="maximize", sampler=sampler)
    study.enqueue_trial(DEFAULT)
    usual: dict[str, list[float]] = {load: [] for load in LOADS}
    search = list[Measurement]()
    for load in schedule:
        trial = study.ask()
        setting = {
            "workers": trial.suggest_int("workers", 1, 12),
            "batch": trial.suggest_int("batch", 1, 8),
            "queue": trial.suggest_int("queue", 4, 64, step=4),
        }
        found = measure(port, setting, load, seconds)
        trial.set_user_attr("p99", found.p99)
        trial.set_constraint("p99", found.p99 - LIMIT)
        usual[load].append(found.rate)
        search.append(found)
        study.tell(trial, found.rate / float(np.mean(usual[load])))  # loads differ in their rates
    kept = [trial for trial in study.trials if trial.user_attrs["p99"] <= LIMIT]
    print(summary("Optuna's search", search))
    best = max(kept or study.trials, key=lambda trial: trial.value or 0.0)
    return dict(best.params)


def main(steps: int = 20, seconds: float = BURST) -> dict[str, float]:
    """Tune for ``steps`` measurements under each load; return the gains and crossings."""
    schedule = [load for load in LOADS for _ in range(steps)]
    command = [sys.executable, __file__, "serve"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            port = int(server.stdout.readline())
            fixed = best_fixed(port, schedule, seconds)
            others = {"default": DEFAULT, "Optuna": fixed}
            runs = tuned_beside(port, schedule, others, seconds)
        finally:
            server.terminate()
    print(f"best fixed setting of Optuna: {fixed}")
    draw(schedule, runs)
    return report(runs)


def tuned_beside(
    port: int, schedule: Sequence[str], others: Mapping[str, Setting], seconds: float
) -> dict[str, list[Measurement]]:
    """Tune over a schedule of loads; other settings run beside it, one after the other."""
    live = Live(
        {"rate": "maximize", "p99": "watch"}, limits={"p99": {"below": LIMIT}}, baseline=DEFAULT
    )
    opt = ht.Optimizer(SPACE, ht.auto(SPACE), seed=0, live=live)
    runs: dict[str, list[Measurement]] = {name: [] for name in ("Heliotrope", *others)}
    for load in schedule:
        ask = opt.ask()
        found = measure(port, ask.params, load, seconds)
        opt.tell(ask, {"rate": found.rate, "p99": found.p99})
        runs["Heliotrope"].append(found)
        for name, setting in others.items():
            runs[name].append(measure(port, setting, load, seconds))
    print(f"best now: {opt.best().params}; by its belief {opt.gain()}")
    return runs


def mean_rate(run: Sequence[Measurement]) -> float:
    return float(np.mean([one.rate for one in run]))


def summary(name: str, run: Sequence[Measurement]) -> str:
    """The mean rate of a run, and how often it crossed the limit."""
    crossed = sum(one.p99 > LIMIT for one in run)
    return f"{name}: {mean_rate(run):.0f} answers/s, limit crossed {crossed} of {len(run)} times"


def report(runs: Mapping[str, Sequence[Measurement]]) -> dict[str, float]:
    """Print the gains and how often the limit was crossed."""
    rates = {name: mean_rate(run) for name, run in runs.items()}
    for name, run in runs.items():
        print(summary(name, run))
    ours = rates["Heliotrope"]
    gains = {name: ours / rate - 1.0 for name, rate in rates.items() if name != "Heliotrope"}
    for name, gain in gains.items():
        print(f"gain over {name}: {gain:+.0%}")
    return gains


def draw(schedule: Sequence[str], runs: Mapping[str, Sequence[Measurement]]) -> None:
    """Draw rates and p99 over the steps."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, (above, below) = plt.subplots(2, figsize=(8, 6), sharex=True, layout="constrained")
    for name, run in runs.items():
        above.plot([one.rate for one in run], label=name)
        below.plot([1000.0 * one.p99 for one in run], label=name)
    below.axhline(1000.0 * LIMIT, color="black", linestyle="--", label="limit")
    for step in range(1, len(schedule)):
        if schedule[step] != schedule[step - 1]:
            above.axvline(step - 0.5, color="lightgray")
            below.axvline(step - 0.5, color="lightgray")
    above.set(ylabel="answers per second", title="Load: " + ", then ".join(LOADS))
    below.set(ylabel="p99 in ms", xlabel="measurement", yscale="log")
    above.legend()
    path = Path("out/tune_a_server.png")
    path.parent.mkdir(exist_ok=True)
    figure.savefig(path, dpi=110)
    plt.close(figure)
    print(f"drawn in {path}")


if __name__ == "__main__":
    serve() if "serve" in sys.argv else main()
