"""Limits on the threads of linear algebra."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from threadpoolctl import threadpool_limits


@contextmanager
def one_thread() -> Iterator[None]:
    """Limit the libraries behind NumPy, SciPy and scikit-learn to one thread; also a decorator.

    A product that is split between threads adds its terms in a different order, so its last bits
    depend on the number of threads.  Libraries loaded later are not limited.
    """
    with threadpool_limits(limits=1):
        yield
