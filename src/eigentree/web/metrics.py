"""Metrics of the service in the text format of Prometheus."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping

# Upper bounds of the histogram of seconds.
BINS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)

_Labels = tuple[tuple[str, str], ...]

_COUNTERS = {
    "requests": "Requests answered, by route and status.",
    "sentences": "Sentences by task and outcome.",
    "worker_restarts": "Workers restarted, by reason.",
    "errors": "Errors of requests and sentences, by code.",
    "clients_gone": "Requests whose client disconnected before the response.",
}


class Metrics:
    """Counters, a histogram and gauges; not thread-safe."""

    def __init__(self) -> None:
        self._counts: dict[str, Counter[_Labels]] = {name: Counter() for name in _COUNTERS}
        self._bins = [0] * (len(BINS) + 1)
        self._seconds = 0.0

    def count(self, name: str, **labels: str) -> None:
        """Increment a counter."""
        self._counts[name][tuple(labels.items())] += 1

    def time(self, seconds: float) -> None:
        """Record the duration of a request."""
        self._bins[bisect_left(BINS, seconds)] += 1
        self._seconds += seconds

    def text(self, gauges: Mapping[str, tuple[str, float]]) -> str:
        """All metrics.

        Parameters
        ----------
        gauges
            Current values by name, each with its description.
        """
        return "".join(f"{line}\n" for line in self._lines(gauges))

    def _lines(self, gauges: Mapping[str, tuple[str, float]]) -> Iterator[str]:
        for name, description in _COUNTERS.items():
            yield from _head(f"{name}_total", "counter", description)
            for labels, count in sorted(self._counts[name].items()):
                yield f"eigentree_{name}_total{_formatted(labels)} {count}"
        yield from _head(
            "request_seconds", "histogram", "Duration of requests that parse or score."
        )
        below = 0
        for end, count in zip((*map(str, BINS), "+Inf"), self._bins, strict=True):
            below += count
            yield f'eigentree_request_seconds_bucket{{le="{end}"}} {below}'
        yield f"eigentree_request_seconds_sum {self._seconds:.6f}"
        yield f"eigentree_request_seconds_count {below}"
        for name, (description, value) in gauges.items():
            yield from _head(name, "gauge", description)
            yield f"eigentree_{name} {value:g}"


def _head(name: str, kind: str, description: str) -> Iterator[str]:
    yield f"# HELP eigentree_{name} {description}"
    yield f"# TYPE eigentree_{name} {kind}"


def _formatted(labels: _Labels) -> str:
    parts = (f'{name}="{_escaped(value)}"' for name, value in labels)
    return f"{{{','.join(parts)}}}" if labels else ""


def _escaped(value: str) -> str:
    return value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
