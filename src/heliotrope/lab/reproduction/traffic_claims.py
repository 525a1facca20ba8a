"""The claims of the paper's traffic section, judged on regrets (trials, days, policies, T)."""

from collections.abc import Sequence

import numpy as np

from heliotrope.lab.claims import (
    OURS,
    Claim,
    Comparison,
    Verdict,
    compare,
    jackknife,
    judge,
    most_needed,
    within,
)
from heliotrope.lab.environments import average_regret
from heliotrope.lab.reproduction.curves import judge_steadier
from heliotrope.validation import Array

POLICIES = ("TV-GP-UCB", "TV-GP-UCB, 0.04", "R-GP-UCB", "GP-UCB", "random")
_TV, _PAPERS, _R, _GP, _RANDOM = range(len(POLICIES))
_SOURCE = "paper, traffic"
_GOOD, _BAD = 5.0, 10.0  # mph of regret before and after a sensor's speed falls


def traffic_claims(regret: Array, index: Array) -> list[Claim]:
    """Judge all claims; ``index`` holds the chosen sensors."""
    by_day = regret.mean(axis=3)
    by_trial = by_day.mean(axis=1)
    means = by_trial.mean(axis=0)
    curves = average_regret(regret.mean(axis=1))
    restarts = compare(by_trial[:, _R], by_trial[:, _GP])
    return [
        _most_days(by_day, _TV),
        _most_days(by_day, _PAPERS),
        _few_days(by_day, _TV),
        _few_days(by_day, _PAPERS),
        _recovers(regret, index, _TV),
        _recovers(regret, index, _PAPERS),
        judge(
            "R-GP-UCB is unsuitable, because the days are short (our criterion: more regret than "
            "GP-UCB, which never restarts)",
            f"R-GP-UCB {means[_R]:.2f}, GP-UCB {means[_GP]:.2f} mph ({restarts})",
            _SOURCE,
            restarts,
        ),
        judge_steadier(curves[:, _TV], curves[:, _R], "mean of the days", "paper, synthetic data"),
        judge(
            "TV-GP-UCB and GP-UCB have less than half of random's regret",
            f"TV-GP-UCB {means[_TV]:.2f}, GP-UCB {means[_GP]:.2f}, random {means[_RANDOM]:.2f} mph",
            OURS,
            *(compare(0.5 * by_trial[:, _RANDOM], by_trial[:, i]) for i in (_TV, _GP)),
        ),
    ]


def _most_days(by_day: Array, policy: int) -> Claim:
    """The policy outperforms GP-UCB on most days: significantly on over half of them."""
    found = [compare(day[:, _GP], day[:, policy]) for day in by_day.swapaxes(0, 1)]
    won, lost = (_count(found, one) for one in (Verdict.YES, Verdict.NO))
    means = by_day.mean(axis=(0, 1))
    verdict = Verdict.UNDECIDED if won <= len(found) / 2 else Verdict.YES
    if lost >= len(found) / 2:
        verdict = Verdict.NO
    return Claim(
        f"{POLICIES[policy]} outperforms GP-UCB on most test days",
        f"significantly on {won} of {len(found)}, worse on {lost}; over all days "
        f"{means[policy]:.2f} against {means[_GP]:.2f} mph",
        verdict,
        _SOURCE,
        most_needed(*found) if verdict is Verdict.UNDECIDED else None,
    )


def _few_days(by_day: Array, policy: int) -> Claim:
    """The policy and GP-UCB are comparable on a few days: on at least one, at most on half."""
    pairs = [within(0.1, day[:, policy], day[:, _GP]) for day in by_day.swapaxes(0, 1)]
    close = [judge("", "", "", *pair).verdict for pair in pairs]
    sure, possible = close.count(Verdict.YES), len(close) - close.count(Verdict.NO)
    verdict = Verdict.YES if 0 < sure <= possible <= len(close) / 2 else Verdict.UNDECIDED
    if possible == 0 or sure > len(close) / 2:
        verdict = Verdict.NO
    return Claim(
        f"{POLICIES[policy]} and GP-UCB are comparable on a few days (our criterion: within 10 %, "
        "on at least one day and at most on half)",
        f"{sure} of {len(close)}, undecided on {possible - sure}",
        verdict,
        _SOURCE,
        most_needed(*sum(pairs, ())) if verdict is Verdict.UNDECIDED else None,
    )


def _recovers(regret: Array, index: Array, policy: int) -> Claim:
    """After the speed at the chosen sensor falls, the policy is back sooner than GP-UCB."""
    both = np.stack([regret[:, :, [policy, _GP]], index[:, :, [policy, _GP]]])

    def later(trials: Array) -> float:
        mine, other = (_mean_recovery(trials[:, 0, :, i], trials[:, 1, :, i]) for i in range(2))
        return other - mine

    found = jackknife(later, both.swapaxes(0, 1))
    mine, other = (_mean_recovery(*both[:, :, :, i]) for i in range(2))
    return judge(
        f"{POLICIES[policy]} recovers more quickly than GP-UCB when the speed at its sensor falls "
        f"(our criterion: steps until its regret is below {_GOOD:g} mph again, after it rose from "
        f"there to over {_BAD:g} in a step at the same sensor)",
        f"{mine:.2f} steps against {other:.2f} ({found})",
        _SOURCE,
        found,
    )


def _mean_recovery(regret: Array, index: Array) -> float:
    """Mean length of the recoveries in regrets (trials, days, T), up to the end of the day."""
    lengths = [
        length
        for r, at in zip(
            regret.reshape(-1, regret.shape[-1]), index.reshape(-1, index.shape[-1]), strict=True
        )
        for length in _recoveries(r, at)
    ]
    return float(np.mean(lengths)) if lengths else 0.0


def _recoveries(regret: Array, at: Array) -> list[int]:
    fell = (regret[1:] > _BAD) & (regret[:-1] < _GOOD) & (at[1:] == at[:-1])
    good = np.append(np.flatnonzero(regret < _GOOD), len(regret))
    falls = np.flatnonzero(fell) + 1
    return [int(good[np.searchsorted(good, t)] - t) for t in falls.tolist()]


def _count(found: Sequence[Comparison], verdict: Verdict) -> int:
    return sum(one.verdict is verdict for one in found)
