"""Shared settings of the tests."""

import os
from collections import Counter
from collections.abc import Iterator

os.environ["HELIOTROPE_FALLBACKS"] = "raise"  # in processes that tests start, too

import pytest
import scipy.linalg  # noqa: F401 - so that its BLAS is there to be limited
from hypothesis import settings
from threadpoolctl import threadpool_limits

from postgres import NoServerError, Server, server

settings.register_profile("fixed", derandomize=True, deadline=None, max_examples=40)
settings.load_profile("fixed")

threadpool_limits(1)  # small matrices: threads of parallel test processes only get in the way


@pytest.fixture(scope="module")
def postgres() -> Iterator[Server]:
    """A PostgreSQL server for the tests, if one is available."""
    try:
        with server() as found:
            yield found
    except NoServerError as error:
        pytest.skip(str(error))


@pytest.fixture
def fallbacks(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """The counts of fallbacks, of a test that expects some."""
    monkeypatch.setattr("heliotrope.linalg.fallbacks_raise", False)
    counts = Counter[str]()
    monkeypatch.setattr("heliotrope.linalg.fallbacks", counts)
    return counts
