"""Host time of small calls of other libraries, as `mercer bench calls` measures Mercer's.

The first argument is a set-up as JSON: {"device": "cpu" or "cuda:0", "keopsPath": folder or null}. The last line of the output is
{"versions": {...}, "calls": [{call, peer, idleUs, busyUs?}], "missing": [...]}, times as {median, p10, p90, count}.
"""

import contextlib
import json
import os
import sys
import time

sys.dont_write_bytecode = True  # nothing is left beside these scripts
from common import first_line, spread, version_of

POINTS, CALLS, WARM_UP_ROUNDS, IDLE_ROUNDS, BUSY_ROUNDS = 1000, 32, 60, 150, 40
BUSY_CYCLES = 28_000_000  # some 14 ms of an H200


def torch_calls(torch, device):
    x, y = (torch.rand(POINTS, 3, device=device) for _ in range(2))
    b = torch.rand(POINTS, 1, device=device)
    small = torch.rand(16, 16, device=device)
    index = (7 * torch.arange(POINTS, device=device)) % 64
    zeros = torch.zeros(64, 3, device=device)
    return dict(
        cdist=lambda: torch.cdist(small, small),
        map=lambda: torch.add(y, x, alpha=2.0),
        sumTo=lambda: x.sum(0, keepdim=True),
        gatherRows=lambda: x.index_select(0, index),
        scatterAdd=lambda: zeros.index_add(0, index, x),
        gaussianSum=lambda: torch.cdist(x, y).square_().neg_().exp_() @ b,
        matmul=lambda: small @ small,
    )


def keops_calls(torch, LazyTensor, device):
    x, y = (torch.rand(POINTS, 3, device=device) for _ in range(2))
    b = torch.rand(POINTS, 1, device=device)

    def gaussian_sum():
        difference = LazyTensor(x[:, None, :]) - LazyTensor(y[None, :, :])
        return (-(difference**2).sum(-1)).exp() @ b

    return dict(gaussianSum=gaussian_sum)


def host_times(call, rounds, synchronize, before=None):
    times = []
    for number in range(-WARM_UP_ROUNDS, rounds):
        synchronize()
        if before is not None:
            before()
        start = time.perf_counter()
        for _ in range(CALLS):
            call()
        if number >= 0:
            times.append((time.perf_counter() - start) / CALLS * 1e6)
    synchronize()
    return spread(times)


def measured(torch, device, peer, calls, missing):
    on_gpu = device != "cpu"
    synchronize = torch.cuda.synchronize if on_gpu else lambda: None
    before = None
    if on_gpu:
        before = lambda: torch.cuda._sleep(BUSY_CYCLES)
    rows = []
    for name, call in calls.items():
        try:
            row = dict(call=name, peer=peer, idleUs=host_times(call, IDLE_ROUNDS, synchronize))
            if before is not None:
                row["busyUs"] = host_times(call, BUSY_ROUNDS, synchronize, before)
            rows.append(row)
        except Exception as error:  # one call of a peer may not work
            missing.append(f"{peer} {name}: {first_line(error)}")
    return rows


def main():
    set_up = json.loads(sys.argv[1])
    device, keops = set_up["device"], set_up["keopsPath"]
    versions, calls, missing = {}, [], []

    def answer():
        print(json.dumps(dict(versions=versions, calls=calls, missing=missing)), flush=True)

    try:
        import torch

        versions["torch"] = version_of(torch)
        calls += measured(torch, device, "torch", torch_calls(torch, device), missing)
    except Exception as error:
        missing.append(f"torch: {first_line(error)}")
    if "torch" in versions:
        answer()  # a peer that takes the process down does not take the others' figures
        try:
            if keops is not None:
                sys.path[:0] = [os.path.join(keops, name) for name in ("keopscore", "pykeops")]
            # What its compilers print must not stand between the answers.
            with contextlib.redirect_stdout(sys.stderr):
                if os.environ.get("MERCER_KEOPS_NVRTC") == "cuda-python" and device != "cpu":
                    import keops_nvrtc

                    keops_nvrtc.install(torch)
                import pykeops
                from pykeops.torch import LazyTensor

            versions["keops"] = version_of(pykeops)
            of_keops = keops_calls(torch, LazyTensor, device)
            calls += measured(torch, device, "keops", of_keops, missing)
        except Exception as error:
            missing.append(f"keops: {first_line(error)}")
    answer()


main()
