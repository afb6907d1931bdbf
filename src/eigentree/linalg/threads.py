"""How many threads linear algebra may use."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from threadpoolctl import threadpool_limits


@contextmanager
def one_thread() -> Iterator[None]:
    """Let the libraries behind NumPy, SciPy and scikit-learn use one thread; also a decorator.

    A product that is cut up for several threads adds its terms in another order, so its last
    bits depend on how many there are.  Libraries that are loaded later are not limited.
    """
    with threadpool_limits(limits=1):
        yield
