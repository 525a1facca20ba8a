"""The recommendation of a replay as Python code that runs as pasted."""

import os
from pathlib import Path
from typing import Any

import numpy as np

from heliotrope.domains import Finite
from heliotrope.errors import InputError
from heliotrope.lab.logs.exports import StudyExport
from heliotrope.lab.replay.candidates import ENTRIES, FIXED, LEARNING, RANDOM_CHOICE
from heliotrope.lab.replay.result import ReplayResult
from heliotrope.optimizer import Optimizer
from heliotrope.policies import Policy, auto, uniform
from heliotrope.policies.frame import Frame
from heliotrope.policies.registry import AUTO
from heliotrope.spaces import Options, SearchSpace


def write_advice(result: ReplayResult, out: str | os.PathLike[str]) -> str:
    """Return the code; write the optimizer that it opens, if it opens one.

    A log of a study continues as a study. Another log continues as an optimizer over its places,
    with the learned prior, in a file.
    """
    if result.best == FIXED:
        return _stay(result)
    if result.log.study is not None:
        return _study(result, result.log.study)
    path = Path(out).resolve() / "recommended.heliotrope"
    optimizer = _optimizer(result)
    optimizer.save(path)
    return _lines(
        "import heliotrope as ht",
        "",
        f"opt = ht.Optimizer.load({str(path)!r})",
        "s = opt.ask()",
        f'print("measure", s.{_field(optimizer.space)})  # then: opt.tell(s, value)',
    )


def _stay(result: ReplayResult) -> str:
    place = result.setup.fixed
    study = result.log.study
    choice = result.log.names[place] if study is None else study.choices[place]
    return _lines(f"choice = {choice!r}  # the best of the past; no policy was better")


def _study(result: ReplayResult, study: StudyExport) -> str:
    direction = "minimize" if result.minimize else "maximize"
    return _lines(
        "import heliotrope as ht",
        "",
        f"space = ht.{_described(study.space)}",
        f"policy = {_policy(result)!r}",
        f'study = ht.Study.create("replayed", space, policy=policy, direction={direction!r})',
        "ask = study.ask()",
        f'print("measure", ask.{_field(study.space)})  # then: study.tell(ask, value)',
    )


def _described(space: SearchSpace | Options) -> str:
    return f"{type(space).__name__}.from_json({space.to_json()!r})"


def _field(space: SearchSpace | Options | None) -> str:
    """The attribute that says what to measure; of an unnamed place it is the column's number."""
    if space is None:
        return "index"
    return "option" if isinstance(space, Options) else "params"


def _policy(result: ReplayResult) -> dict[str, Any] | None:
    """The policy of a study; what is not given is learned."""
    name, setup = result.best, result.setup
    if name in (AUTO.name, LEARNING):
        return None
    if name == RANDOM_CHOICE:
        return {"kind": uniform.__name__}
    entry = ENTRIES[name]
    policy: dict[str, Any] = {"kind": entry.name}
    if "epsilon" in entry.parameters:
        policy["epsilon"] = float(f"{setup.drift.epsilon:.3g}")
    if "every" in entry.parameters:
        policy["every"] = setup.tuned[name].every
    if entry.has_range:
        low, high = (-setup.high, -setup.low) if result.minimize else (setup.low, setup.high)
        batch = setup.batch(len(result.rewards), len(result.log.names))
        policy |= {"low": low, "high": high, "batch": batch}
    return policy


def _optimizer(result: ReplayResult) -> Optimizer:
    """An optimizer over the named places, with the policy as it was trained."""
    domain = _places(result)
    policy = _trained(result, domain)
    if not result.minimize:
        return Optimizer(domain, policy)
    return Optimizer(domain, Frame(sign=-1.0).policy(policy), direction="minimize")


def _places(result: ReplayResult) -> Options | Finite:
    """The places by name; without names if there are too many, or too long ones."""
    numbers = np.arange(float(len(result.log.names)))[:, None]
    points = numbers if result.log.points is None else result.log.points
    try:
        return Options(result.log.names, points)
    except InputError:
        return Finite(points)


def _trained(result: ReplayResult, domain: Options | Finite) -> Policy:
    """The policy that was played, of the values times the direction's sign."""
    name, setup = result.best, result.setup
    if name == AUTO.name:
        return auto(domain)
    if name in setup.tuned:
        return setup.tuned[name].policy(setup.prior)
    entry = ENTRIES[name]
    if entry.has_range:
        batch = setup.batch(len(result.rewards), len(result.log.names))
        ranged: Policy = entry.factory(setup.low, setup.high, batch)
        return ranged
    plain: Policy = entry.factory()
    return plain


def _lines(*lines: str) -> str:
    return "\n".join(lines)
