"""What the scripts that time peers share: answers, timing, and figures of errors."""

import importlib.metadata
import json
import math
import pathlib
import re
import time


def say(**line):
    print(json.dumps(line), flush=True)


def spread(values):
    values = sorted(values)

    def quantile(share):
        position = share * (len(values) - 1)
        below = math.floor(position)
        above = min(below + 1, len(values) - 1)
        return values[below] + (values[above] - values[below]) * (position - below)

    return dict(median=quantile(0.5), p10=quantile(0.1), p90=quantile(0.9), count=len(values))


def timer_for(torch, device):
    """Milliseconds of each of `count` calls: events around every call, and no waiting between calls, on a GPU."""
    if device == "cpu":

        def wall(call, count):
            times = []
            for _ in range(count):
                start = time.perf_counter()
                call()
                times.append((time.perf_counter() - start) * 1e3)
            return times

        return wall

    def events(call, count):
        pairs = []
        for _ in range(count):
            start = torch.cuda.Event(enable_timing=True)
            end = torch.cuda.Event(enable_timing=True)
            start.record()
            call()
            end.record()
            pairs.append((start, end))
        torch.cuda.synchronize()
        return [start.elapsed_time(end) for start, end in pairs]

    return events


WARM_SECONDS = 0.1


def measure(timer, call, max_seconds):
    timer(call, 1)  # may include the peer's own compilation
    warm = []
    start = time.perf_counter()
    while len(warm) < 2 or (time.perf_counter() - start < WARM_SECONDS and len(warm) < 2000):
        warm += timer(call, 1)
        if warm[0] > max_seconds * 1e3:
            return spread(warm)
    estimate = max(min(warm), 1e-3)
    repeats = int(min(50, max(3, 300.0 / estimate)))
    return spread(timer(call, repeats))


def spread_indices(extent, count):
    return sorted({round(i * (extent - 1) / max(1, count - 1)) for i in range(count)})


def version_of(package):
    """Of an installed package, or of a source tree with its pyproject.toml."""
    try:
        return importlib.metadata.version(package.__name__)
    except importlib.metadata.PackageNotFoundError:
        project = pathlib.Path(package.__file__).parents[2] / "pyproject.toml"
        found = project.exists() and re.search(r'^version\s*=\s*"(.*)"', project.read_text(), re.MULTILINE)
        return found.group(1) if found else "unknown"


def finite(units):
    return {"maxErrorInUnits": units} if math.isfinite(units) else {"error": "its result is not finite"}


def first_line(error):
    return (str(error).splitlines() or [type(error).__name__])[0][:200]
