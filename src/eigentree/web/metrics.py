"""What the service has done, as text for Prometheus."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping

# Upper ends of the bins of seconds.
BINS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)

_Labels = tuple[tuple[str, str], ...]

_COUNTERS = {
    "requests": "Requests answered, by route and status.",
    "sentences": "Sentences by what was asked and what came of it.",
    "worker_restarts": "Workers started in place of others, by the reason.",
    "errors": "Errors of requests and of sentences by their code, as those of limits.",
    "clients_gone": "Requests whose client went away before the answer.",
}


class Metrics:
    """Counters, a histogram and gauges; for one thread."""

    def __init__(self) -> None:
        self._counts: dict[str, Counter[_Labels]] = {name: Counter() for name in _COUNTERS}
        self._bins = [0] * (len(BINS) + 1)
        self._seconds = 0.0

    def count(self, name: str, **labels: str) -> None:
        """Count one more."""
        self._counts[name][tuple(labels.items())] += 1

    def time(self, seconds: float) -> None:
        """Put the seconds of a request into the histogram."""
        self._bins[bisect_left(BINS, seconds)] += 1
        self._seconds += seconds

    def text(self, gauges: Mapping[str, tuple[str, float]]) -> str:
        """All of it.

        Parameters
        ----------
        gauges
            What is so now: names, with what each tells and its value.
        """
        return "".join(f"{line}\n" for line in self._lines(gauges))

    def _lines(self, gauges: Mapping[str, tuple[str, float]]) -> Iterator[str]:
        for name, told in _COUNTERS.items():
            yield from _head(f"{name}_total", "counter", told)
            for labels, value in sorted(self._counts[name].items()):
                yield f"eigentree_{name}_total{_written(labels)} {value}"
        yield from _head("request_seconds", "histogram", "Seconds of requests that parse or score.")
        below = 0
        for end, value in zip((*map(str, BINS), "+Inf"), self._bins, strict=True):
            below += value
            yield f'eigentree_request_seconds_bucket{{le="{end}"}} {below}'
        yield f"eigentree_request_seconds_sum {self._seconds:.6f}"
        yield f"eigentree_request_seconds_count {below}"
        for name, (told, now) in gauges.items():
            yield from _head(name, "gauge", told)
            yield f"eigentree_{name} {now:g}"


def _head(name: str, kind: str, told: str) -> Iterator[str]:
    yield f"# HELP eigentree_{name} {told}"
    yield f"# TYPE eigentree_{name} {kind}"


def _written(labels: _Labels) -> str:
    parts = (f'{name}="{_escaped(value)}"' for name, value in labels)
    return f"{{{','.join(parts)}}}" if labels else ""


def _escaped(value: str) -> str:
    return value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
