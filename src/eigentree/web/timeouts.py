"""Time-outs that all end at once when the service does."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class Timeouts:
    """The time-outs of all that waits."""

    def __init__(self) -> None:
        self.have_ended = False
        self._all: set[asyncio.Timeout] = set()

    @asynccontextmanager
    async def within(self, seconds: float) -> AsyncIterator[None]:
        """Let the block take so many seconds at most.

        Raises
        ------
        TimeoutError
            When they are over, or the service ends.
        """
        async with asyncio.timeout(0.0 if self.have_ended else seconds) as timeout:
            self._all.add(timeout)
            try:
                yield
            finally:
                self._all.discard(timeout)

    def end(self) -> None:
        """Let everything that waits wait no longer, now and from now on."""
        self.have_ended = True
        for timeout in self._all:
            timeout.reschedule(asyncio.get_running_loop().time())
