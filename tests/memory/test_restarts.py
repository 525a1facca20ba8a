"""Epochs of the memories that keep everything or restart."""

from __future__ import annotations

from hypothesis import given, strategies as st

from heliotrope.memory import KeepAll, Restart
from strategies import fixed


@given(every=st.integers(1, 50), t=st.integers(1, 5000))
@fixed(60)
def test_a_restart_comes_before_steps_1_and_n_plus_1(every: int, t: int) -> None:
    begins = Restart(every).epoch(t) != Restart(every).epoch(t - 1)
    assert begins == ((t - 1) % every == 0)


@given(every=st.floats(0.01, 50.0), t=st.floats(-100.0, 1e4), later=st.floats(0.0, 1e4))
@fixed(60)
def test_epochs_never_run_backwards(every: float, t: float, later: float) -> None:
    assert Restart(every).epoch(t) <= Restart(every).epoch(t + later)
    assert KeepAll().epoch(t) == KeepAll().epoch(t + later)
