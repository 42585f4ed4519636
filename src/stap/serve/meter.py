"""What the server counts of itself, for the status and for Prometheus. Routes are counted, never names or addresses."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, deque
from threading import Lock

BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 1.0, 5.0)  # seconds
LATEST = 2_000  # requests that the percentiles of the status are of
QUICK = "/live"  # lines that stay open say nothing of speed


class Meter:
    """Requests by route and status, and how long they took."""

    def __init__(self) -> None:
        self._requests: Counter[tuple[str, str, int]] = Counter()
        self._buckets: dict[str, list[int]] = {}
        self._seconds: Counter[str] = Counter()
        self._latest: deque[float] = deque(maxlen=LATEST)
        self._lock = Lock()

    def note(self, method: str, route: str, status: int, seconds: float) -> None:
        with self._lock:
            self._requests[method, route, status] += 1
            if not route.endswith(QUICK):
                self._latest.append(seconds)
                self._buckets.setdefault(route, [0] * (len(BOUNDS) + 1))[bisect_left(BOUNDS, seconds)] += 1
                self._seconds[route] += seconds  # type: ignore[assignment] # a Counter holds any number

    def percentiles(self) -> dict[str, float]:
        """In milliseconds, of the latest requests."""
        with self._lock:
            took = sorted(self._latest)
        return {
            f"p{q}": round(1e3 * took[min(len(took) - 1, len(took) * q // 100)], 2) if took else 0.0 for q in (50, 99)
        }

    def lines(self, gauges: dict[str, tuple[str, float]]) -> str:
        """The text that Prometheus reads; gauges: what each is, and its value now."""
        with self._lock:
            requests, buckets, seconds = dict(self._requests), dict(self._buckets), dict(self._seconds)
        out = ["# HELP stap_requests_total Requests answered.", "# TYPE stap_requests_total counter"]
        for (method, route, status), count in sorted(requests.items()):
            out.append(f'stap_requests_total{{method="{method}",route="{route}",status="{status}"}} {count}')
        out += ["# HELP stap_request_seconds How long they took.", "# TYPE stap_request_seconds histogram"]
        for route, counts in sorted(buckets.items()):
            total = 0
            for bound, count in zip([*map(str, BOUNDS), "+Inf"], counts, strict=True):
                total += count
                out.append(f'stap_request_seconds_bucket{{route="{route}",le="{bound}"}} {total}')
            out.append(f'stap_request_seconds_sum{{route="{route}"}} {seconds[route]:.6f}')
            out.append(f'stap_request_seconds_count{{route="{route}"}} {total}')
        for name, (what, value) in gauges.items():
            out += [f"# HELP stap_{name} {what}", f"# TYPE stap_{name} gauge", f"stap_{name} {value:g}"]
        return "\n".join(out) + "\n"
