"""Demo studies, which the service drives itself: two moving peaks."""

from functools import partial
from threading import Event, Lock, Thread

import numpy as np

from heliotrope.errors import HeliotropeError
from heliotrope.service.errors import RequestError, log
from heliotrope.service.studies import Studies
from heliotrope.study import Study
from heliotrope.surroundings import REAL
from heliotrope.validation import Array

STEPS = 300
_PAUSE = 0.2  # seconds between two steps
_NOISE = 0.1  # standard deviation
_SPACE = {name: {"type": "real", "low": 0.0, "high": 1.0} for name in ("x", "y")}


class Demos:
    """Threads that each ask and tell for some hundred steps."""

    def __init__(self, studies: Studies, most: int, pause: float = _PAUSE) -> None:
        self._studies, self._most, self._pause = studies, most, pause
        self._threads: set[Thread] = set()
        self._lock, self._stop = Lock(), Event()

    def start(self) -> str:
        """Create a study and drive it; return its name; RequestError if too many run."""
        with self._lock:
            self._threads = {thread for thread in self._threads if thread.is_alive()}
            if len(self._threads) >= self._most:
                raise RequestError(429, "busy", f"at most {self._most} demos at a time", "one more")
            name = f"demo-{REAL.uid()[:6]}"
            self._studies.create(name, {"space": _SPACE})
            thread = Thread(target=self._drive, args=(name,), name=name, daemon=True)
            self._threads.add(thread)
            thread.start()
        return name

    def close(self) -> None:
        """Stop all demos, and wait for their threads."""
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def _drive(self, name: str) -> None:
        noise = np.random.default_rng([0, 1]).normal(scale=_NOISE, size=STEPS)
        try:
            for one in noise.tolist():
                self._studies.use(name, partial(_step, noise=one))
                if self._stop.wait(self._pause):
                    return
        except HeliotropeError as error:  # such as a deleted study
            log.info("%s ends: %s", name, error)
        except Exception:  # a thread can only log it
            log.exception("%s ends", name)


def peaks(x: Array, t: float) -> float:
    """Two peaks that move in the unit square and take turns in being the higher one."""
    phase = 2.0 * np.pi * t / 200.0
    height = 0.5 + 0.4 * np.sin(0.7 * phase)
    first = 0.5 + 0.35 * np.array([np.cos(phase), np.sin(phase)])
    second = 0.5 - 0.35 * np.array([np.sin(0.6 * phase), np.cos(0.6 * phase)])
    return float(height * _peak(x - first) + (1.0 - height) * _peak(x - second))


def _peak(distance: Array) -> float:
    return float(np.exp(-(distance @ distance) / 0.05))


def _step(study: Study, noise: float) -> None:
    ask = study.ask()
    x = np.array([ask.params[name] for name in _SPACE])
    study.tell(ask.id, peaks(x, ask.t) + noise)
