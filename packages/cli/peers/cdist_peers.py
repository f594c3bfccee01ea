"""Times other libraries' pairwise distances on the cells that `mercer bench cdist` measures.

Reads a set-up and then one cell a line from standard input (JSON; the operands are raw files) and answers on standard
output: {"versions": {...}}, {"missing": "why"}, {"cell": {..., "ms": {median, p10, p90, count}}}, and {"ready": true}
when it waits for the next line.
GPU work is timed with CUDA events, CPU work with a monotonic clock; every cell is warmed up first.
"""

import json
import math
import sys
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
    """One bracketed call in milliseconds."""
    if device == "cpu":

        def wall(call):
            start = time.perf_counter()
            call()
            return (time.perf_counter() - start) * 1e3

        return wall

    def events(call):
        start = torch.cuda.Event(enable_timing=True)
        end = torch.cuda.Event(enable_timing=True)
        start.record()
        call()
        end.record()
        end.synchronize()
        return start.elapsed_time(end)

    return events


def measure(timer, call, max_seconds):
    timer(call)  # may include the peer's own compilation
    timer(call)
    estimate = max(timer(call), 1e-3)
    repeats = int(min(50, max(3, 300.0 / estimate)))
    if estimate > max_seconds * 1e3:
        repeats = 1
    return spread([timer(call) for _ in range(repeats)])


def error_in_units(torch, out, a, b, p, cell):
    """Largest relative error of sampled distances against float64, in units of rounding, like Mercer's own figure."""
    rows = sorted({round(i * (cell["m"] - 1) / 5) for i in range(6)})
    columns = sorted({round(i * (cell["n"] - 1) / 47) for i in range(48)})
    x = a[-1, rows].double()[:, None, :]
    y = b[-1, columns].double()[None, :, :]
    d = (x - y).abs()
    if math.isinf(p):
        truth = d.amax(-1)
    else:
        truth = d.pow(p).sum(-1).pow(1.0 / p)
    got = out[-1][rows][:, columns].double()
    unit = 2.0**-24 if cell["dtype"] == "float32" else 2.0**-53
    relative = torch.where(got == truth, torch.zeros_like(truth), (got - truth).abs() / truth)
    return relative.max().item() / unit


def find_peers(torch, device, kermac_path):
    versions = {"torch": torch.__version__}
    peers = {"torch.cdist": lambda a, b, out, p: torch.cdist(a, b, p=p)}
    if kermac_path and device != "cpu":
        sys.path.insert(0, kermac_path)
        try:
            import kermac

            peers["kermac.cdist"] = lambda a, b, out, p: kermac.cdist(a, b, out=out, p=p)
            versions["kermac"] = str(getattr(kermac, "__version__", "unknown"))
        except Exception as error:
            say(missing=f"kermac: {error}")
    say(versions=versions)
    return peers


def run_cell(torch, peers, timer, device, cell, max_seconds):
    p = math.inf if cell["p"] == "inf" else float(cell["p"])
    dtype = getattr(torch, cell["dtype"])

    def load(path, rows):
        size = cell["batch"] * rows * cell["k"]
        host = torch.from_file(path, shared=False, size=size, dtype=dtype)
        return host.reshape(cell["batch"], rows, cell["k"]).to(device)

    named = {key: cell[key] for key in ("m", "n", "k", "batch", "p", "dtype")}
    for name, function in peers.items():
        if name == "kermac.cdist" and (cell["dtype"] != "float32" or math.isinf(p)):
            continue
        try:
            with torch.no_grad():
                a = load(cell["a"], cell["m"])
                b = load(cell["b"], cell["n"])
                out = None
                if name == "kermac.cdist":
                    out = torch.empty((cell["batch"], cell["m"], cell["n"]), dtype=dtype, device=device)
                ms = measure(timer, lambda: function(a, b, out, p), max_seconds)
                result = function(a, b, out, p)
                units = error_in_units(torch, result, a, b, p, cell)
            say(cell={**named, "peer": name, "ms": ms, "maxErrorInUnits": units})
        except Exception as error:  # out of memory and unsupported cells are results too
            say(cell={**named, "peer": name, "error": str(error).splitlines()[0][:200]})
        finally:
            a = b = out = result = None
            if device != "cpu":
                torch.cuda.empty_cache()


def main():
    setup = json.loads(sys.stdin.readline())
    device = setup["device"]
    try:
        import torch
    except Exception as error:  # any broken installation is a missing peer
        say(missing=f"torch: {error}")
        return
    if device != "cpu" and not torch.cuda.is_available():
        say(missing=f"torch {torch.__version__} sees no CUDA device")
        return
    torch.backends.cuda.matmul.allow_tf32 = False
    peers = find_peers(torch, device, setup.get("kermacPath"))
    timer = timer_for(torch, device)
    say(ready=True)
    for line in sys.stdin:
        run_cell(torch, peers, timer, device, json.loads(line), setup["maxSecondsPerCell"])
        say(ready=True)


if __name__ == "__main__":
    main()
