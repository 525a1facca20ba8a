"""Checks for custom policies: the laws that every policy of this package keeps."""

from collections.abc import Iterable, Sequence

from heliotrope.domains import Box, Domain, Finite, grid
from heliotrope.errors import HeliotropeError, InputError
from heliotrope.policies import Policy
from heliotrope.testing.laws import LAWS as LAWS
from heliotrope.testing.subject import Subject

_EVERYWHERE: list[Domain] = [grid(4, 4), Box([0.0, 0.0], [1.0, 1.0])]


class BrokenLaw(AssertionError):  # noqa: N818 - named for what it reports
    """A policy breaks a law: ``law`` is the law's name, ``how`` describes the failure."""

    def __init__(self, law: str, how: str) -> None:
        self.law, self.how = law, how
        super().__init__(law, how)

    def __str__(self) -> str:
        return f"{self.law}: {self.how}"


def check_policy(
    policy: Policy, domain: Domain | None = None, *, laws: Iterable[str] = tuple(LAWS)
) -> None:
    """Raise :class:`BrokenLaw` if a policy breaks a law; this uses thousands of results.

    Parameters
    ----------
    policy
        The policy to check. If its state grows with every result, it sets ``grows = True``.
    domain
        The domain to use; by default a small grid and a square, as far as the policy takes them.
    laws
        Names of the laws to check; by default all of ``LAWS``.

    Examples
    --------
    >>> import heliotrope as ht
    >>> check_policy(ht.policies.Uniform())
    """
    if isinstance(policy, type) or not isinstance(policy, Policy):
        raise InputError("a policy, with a method start(domain)", repr(policy))
    names = _known(laws)
    for where in _suitable(policy, _EVERYWHERE if domain is None else [domain]):
        for name in names:
            _check(name, Subject(policy, where))


def _known(laws: Iterable[str]) -> tuple[str, ...]:
    names = tuple(laws)
    unknown = [name for name in names if name not in LAWS]
    if unknown or not names:
        got = ", ".join(map(str, unknown)) or "none"
        raise InputError(f"laws among {', '.join(LAWS)}", got, "Omit laws to check all.")
    return names


def _check(name: str, subject: Subject) -> None:
    try:
        LAWS[name](subject)
    except AssertionError as broken:
        raise BrokenLaw(name, f"{broken} {subject.where}") from broken
    except Exception as error:  # a policy is the user's code and may fail in any way
        how = f"{type(error).__name__}: {error} {subject.where}"
        raise BrokenLaw(name, how) from error


def _suitable(policy: Policy, domains: Sequence[Domain]) -> list[Domain]:
    """Return the domains that the policy takes; raise its error if it takes none."""
    suitable: list[Domain] = []
    refusals: list[HeliotropeError] = []
    for domain in domains:
        if not isinstance(domain, (Finite, Box)):
            raise InputError("a Finite domain or a Box", repr(domain)[:60])
        try:
            policy.start(domain)
        except HeliotropeError as refusal:
            refusals.append(refusal)
        except Exception:  # a failure rather than a refusal: the laws report it
            suitable.append(domain)
        else:
            suitable.append(domain)
    if not suitable:
        raise refusals[0]
    return suitable
