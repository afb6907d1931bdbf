"""Time-outs that all expire when the service stops."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class Timeouts:
    """The active time-outs of a service."""

    def __init__(self) -> None:
        self.have_ended = False
        self._all: set[asyncio.Timeout] = set()

    @asynccontextmanager
    async def within(self, seconds: float) -> AsyncIterator[None]:
        """Limit the time of a block.

        Raises
        ------
        TimeoutError
            When the time is over, or the service stops.
        """
        async with asyncio.timeout(0.0 if self.have_ended else seconds) as timeout:
            self._all.add(timeout)
            try:
                yield
            finally:
                self._all.discard(timeout)

    def end(self) -> None:
        """Expire all active time-outs, and all future ones at once."""
        self.have_ended = True
        for timeout in self._all:
            timeout.reschedule(asyncio.get_running_loop().time())
