"""Times other libraries on the cells that `mercer bench cdist`, `kermac`, `linalg`, `keops` and `solvers` measure.

Reads a set-up and then one cell a line from standard input (JSON; the operands are raw files) and answers on standard
output: {"versions": {...}}, {"missing": "why"}, {"compilation": {peer, descriptors, ms}},
{"cell": {..., "peer": "...", "ms": {median, p10, p90, count}, "maxErrorInUnits": u}}, of iterative solutions with "iterations" and "residual", and {"ready": true} when it waits
for the next line.
GPU work is timed with CUDA events, CPU work with a monotonic clock; every cell is warmed up first.
"""

import json
import math
import os
import sys

sys.dont_write_bytecode = True  # nothing is left beside these scripts
from common import finite, first_line, measure, say, spread_indices, timer_for, version_of


# What torch, Kermac and numpy do for each operation. A peer's function takes (operands, out, p, parameters); operands are tensors
# (batch, rows, columns) by name. None where a peer cannot do it.


def torch_operations(torch):
    def norm(x, out, p, _):
        return torch.cdist(x["a"], x["b"], p=p)

    def laplace(x, out, p, parameters):
        return torch.cdist(x["a"], x["b"], p=p).mul_(-1.0 / parameters["bandwidth"]).exp_()

    def gaussian(x, out, p, parameters):
        d = torch.cdist(x["a"], x["b"], p=p)
        return d.mul_(d).mul_(-0.5 / parameters["bandwidth"] ** 2).exp_()

    def cdist_grad(x, out, p, _):
        a, b, c, d = (x[name] for name in "abcd")
        if p == 2.0:  # two matrix products and one for each row of c
            weighted = torch.einsum("lnk,lok,lkm->lonm", b, c, a)
            return torch.matmul(c, a)[:, :, None, :] * d[:, None] - weighted
        batch, features, points = b.shape
        total = torch.zeros((batch, c.shape[1], features, d.shape[2]), dtype=d.dtype, device=d.device)
        step = max(1, 2**27 // max(1, batch * features * d.shape[2]))
        for start in range(0, points, step):
            part = slice(start, start + step)
            delta = d[:, :, :, None] - b[:, :, None, part]
            phi = delta.sign() if p == 1.0 else delta.sign() * delta.abs().pow(p - 1.0)
            total += torch.einsum("lok,lkm,lnmk->lonm", c[:, :, part], a[:, part], phi)
        return total

    return {
        "cdist": norm,
        "minkowski": norm,
        "laplace": laplace,
        "exponential": laplace,
        "gaussian": gaussian,
        "weightedDifferences": cdist_grad,
        **torch_linear_operations(torch),
    }


def torch_linear_operations(torch):
    def solve_cholesky(x, out, p, _):
        factor, _info = torch.linalg.cholesky_ex(x["a"])
        return torch.cholesky_solve(x["b"], factor)

    def eigh(x, out, p, _):
        values, vectors = torch.linalg.eigh(x["a"])
        return vectors, values

    return {
        "solveCholesky": solve_cholesky,
        "solveLU": lambda x, out, p, _: torch.linalg.solve_ex(x["a"], x["b"])[0],
        "eigh": eigh,
        "svd": lambda x, out, p, _: tuple(torch.linalg.svd(x["a"], full_matrices=False)),
        "matmul": lambda x, out, p, _: torch.matmul(x["a"], x["b"]),
    }


def numpy_operations(numpy):
    """No solution by a Cholesky factor: numpy has no triangular solve."""

    def eigh(x, out, p, _):
        values, vectors = numpy.linalg.eigh(x["a"])
        return vectors, values

    return {
        "solveLU": lambda x, out, p, _: numpy.linalg.solve(x["a"], x["b"]),
        "eigh": eigh,
        "svd": lambda x, out, p, _: tuple(numpy.linalg.svd(x["a"], full_matrices=False)),
        "matmul": lambda x, out, p, _: numpy.matmul(x["a"], x["b"]),
    }


def kermac_operations(torch, kermac):
    def descriptor(inner, outer, kernel):
        return kermac.KernelDescriptor(
            inner_operator=kermac.InnerOperator.DIFF,
            inner_power=kermac.PowerType[inner],
            outer_power=kermac.PowerType[outer],
            kernel_type=kermac.KernelType[kernel],
        )

    def kernel(made):
        def run(x, out, p, parameters):
            return kermac.run_kernel(
                made, x["a"], x["b"], out=out, bandwidth=float(parameters["bandwidth"]), try_to_align=True
            )

        return run

    exponents = {}

    def p_norm(x, out, p, _):
        key = (p, x["a"].shape[0])
        if key not in exponents:
            exponents[key] = torch.full((key[1],), p, device=x["a"].device)
        return kermac.run_kernel(
            kermac.kernel_descriptor_p_norm, x["a"], x["b"], out=out, p=exponents[key], try_to_align=True
        )

    return {
        "cdist": lambda x, out, p, _: kermac.cdist(x["a"], x["b"], out=out, p=p),
        "minkowski": p_norm,
        "laplace": kernel(kermac.kernel_descriptor_laplace_l1),
        "exponential": kernel(kermac.kernel_descriptor_laplace_l2),
        "gaussian": kernel(descriptor("SQUARE", "NOOP", "GAUSSIAN")),
        "weightedDifferences": lambda x, out, p, _: kermac.cdist_grad(
            x["a"], x["b"], x["c"], x["d"], out=out, p=p
        ),
    }


def compile_kermac(torch, kermac, device):
    """Compiles Kermac's ready-made descriptors; its cache is empty when this process starts."""
    names = [name for name in dir(kermac) if name.startswith("kernel_descriptor_")]
    start = time.perf_counter()
    kermac.pre_compile_descriptors(
        device=torch.device(device),
        descriptors=[getattr(kermac, name) for name in names],
        try_to_align=True,
    )
    ms = (time.perf_counter() - start) * 1e3
    say(compilation=dict(peer="kermac", descriptors=len(names), ms=ms))


# Errors: sampled results of the last batch entry against float64, like Mercer's own figures.


def pairwise_truth(torch, x, result, p, cell):
    """Sampled values, their truth, and the scale of the error, which is the truth itself."""
    rows, columns = spread_indices(cell["m"], 6), spread_indices(cell["n"], 48)
    a = x["a"][-1, rows].double()[:, None, :]
    b = x["b"][-1, columns].double()[None, :, :]
    d = (a - b).abs()
    distance = d.amax(-1) if math.isinf(p) else d.pow(p).sum(-1).pow(1.0 / p)
    h = cell["parameters"].get("bandwidth")
    truth = {
        "laplace": lambda: (-distance / h).exp(),
        "exponential": lambda: (-distance / h).exp(),
        "gaussian": lambda: (-distance * distance / (2 * h * h)).exp(),
    }.get(cell["operation"], lambda: distance)()
    return result[-1][rows][:, columns].double(), truth, truth.abs()


def gradient_truth(torch, x, result, p, cell):
    """The scale of the error is the sum of the terms' magnitudes: they have both signs."""
    a, b, c, d = (x[name][-1].double() for name in "abcd")
    o, n = spread_indices(c.shape[0], 2), spread_indices(b.shape[0], 3)
    m = spread_indices(d.shape[1], 48)
    delta = d[n][:, m][:, :, None] - b[n][:, None, :]
    phi = torch.where(delta == 0, torch.zeros_like(delta), delta.sign() * delta.abs().pow(p - 1.0))
    terms = c[o][:, None, None, :] * a[:, m].T[None, None] * phi[None]
    got = result[-1][o][:, n][:, :, m].double()
    return got, terms.sum(-1), terms.abs().sum(-1)


def scaled_residual(xp, x, result, cell):
    """The largest of the last batch entry, in units of n eps norm: what LAPACK's tests hold below 30. xp is torch or numpy."""

    def entry(matrices):
        last = matrices[-1]
        return last.double() if hasattr(last, "double") else last.astype("float64")

    def norm(matrix):
        return float(abs(matrix).sum(0).max())

    n = cell["n"]
    eps = 2.0**-23 if cell["dtype"] == "float32" else 2.0**-52
    a = entry(x["a"])
    results = [entry(part) for part in (result if isinstance(result, tuple) else (result,))]

    def off_orthogonal(q):
        product = q.T @ q
        product.reshape(-1)[:: n + 1] -= 1
        return norm(product) / (n * eps)

    if cell["operation"] == "eigh":
        vectors, values = results
        left = norm(a @ vectors - vectors * values) / (norm(a) * n * eps)
        return max(left, off_orthogonal(vectors))
    if cell["operation"] == "svd":
        u, s, vh = results
        left = norm(a - (u * s) @ vh) / (norm(a) * n * eps)
        return max(left, off_orthogonal(u), off_orthogonal(vh.T))
    b, (got,) = entry(x["b"]), results
    if cell["operation"] == "matmul":
        return norm(got - a @ b) / (norm(a) * norm(b) * n * eps)
    return norm(b - a @ got) / (norm(a) * norm(got) * n * eps)


def error_in_units(torch, x, result, p, cell):
    truth_of = gradient_truth if cell["operation"] == "weightedDifferences" else pairwise_truth
    got, truth, scale = truth_of(torch, x, result, p, cell)
    unit = 2.0**-24 if cell["dtype"] == "float32" else 2.0**-53
    relative = torch.where(got == truth, torch.zeros_like(truth), (got - truth).abs() / scale)
    return relative.max().item() / unit


def find_peers(torch, setup):
    """Each peer's operations by name."""
    versions = {"torch": torch.__version__}
    peers = {"torch": torch_operations(torch)}
    if setup.get("kermacPath") and setup["device"] != "cpu":
        sys.path.insert(0, setup["kermacPath"])
        try:
            if os.environ.get("MERCER_KERMAC_PACKAGES") == "stand-ins":
                import kermac_packages

                kermac_packages.install()
            import kermac

            versions["kermac"] = version_of(kermac)
            if setup.get("compilation"):
                compile_kermac(torch, kermac, setup["device"])
            peers["kermac"] = kermac_operations(torch, kermac)
        except Exception as error:
            say(missing=f"kermac: {error}")
    say(versions=versions)
    return peers


def can_run(peer, cell, p):
    return peer != "kermac" or (cell["dtype"] == "float32" and not math.isinf(p))


def result_shape(cell):
    if cell["operation"] == "weightedDifferences":
        return (cell["batch"], cell["o"], cell["n"], cell["m"])
    return (cell["batch"], cell["m"], cell["n"])


LINEAR = ("solveCholesky", "solveLU", "eigh", "svd", "matmul")


def run_numpy_cell(numpy, operations, cell, max_seconds):
    """Like run_cell, of linear algebra on the CPU."""
    function = operations.get(cell["operation"])
    if function is None:
        return
    named = {key: value for key, value in cell.items() if key not in ("operands", "parameters")}

    def load(operand):
        return numpy.fromfile(operand["path"], cell["dtype"]).reshape(cell["batch"], *operand["shape"])

    try:
        operands = {name: load(operand) for name, operand in cell["operands"].items()}
        call = lambda: function(operands, None, None, None)
        ms = measure(timer_for(None, "cpu"), call, max_seconds)
        units = scaled_residual(numpy, operands, call(), cell)
        say(cell={**named, "peer": "numpy", "ms": ms, **finite(units)})
    except Exception as error:
        say(cell={**named, "peer": "numpy", "error": first_line(error)})


def run_cell(torch, peers, timer, device, cell, max_seconds):
    linear = cell["operation"] in LINEAR
    p = None if linear else math.inf if cell["p"] == "inf" else float(cell["p"])
    dtype = getattr(torch, cell["dtype"])
    parameters = cell["parameters"]

    def load(operand):
        shape = (cell["batch"], *operand["shape"])
        size = math.prod(shape)
        host = torch.from_file(operand["path"], shared=False, size=size, dtype=dtype)
        return host.reshape(shape).to(device)

    named = {key: value for key, value in cell.items() if key not in ("operands", "parameters")}
    for peer, operations in peers.items():
        function = operations.get(cell["operation"])
        if function is None or not can_run(peer, cell, p):
            continue
        try:
            with torch.no_grad():
                operands = {name: load(operand) for name, operand in cell["operands"].items()}
                out = None
                if peer == "kermac":
                    out = torch.empty(result_shape(cell), dtype=dtype, device=device)
                ms = measure(timer, lambda: function(operands, out, p, parameters), max_seconds)
                result = function(operands, out, p, parameters)
                units = (
                    scaled_residual(torch, operands, result, cell)
                    if linear
                    else error_in_units(torch, operands, result, p, cell)
                )
            say(cell={**named, "peer": peer, "ms": ms, **finite(units)})
        except Exception as error:  # out of memory and unsupported cells are results too
            say(cell={**named, "peer": peer, "error": first_line(error)})
        finally:
            operands = out = result = None
            if device != "cpu":
                torch.cuda.empty_cache()


def serve_numpy(max_seconds):
    """Where torch is missing."""
    try:
        import numpy
    except Exception as error:
        say(missing=f"numpy: {error}")
        return
    say(versions={"numpy": numpy.__version__})
    operations = numpy_operations(numpy)
    say(ready=True)
    for line in sys.stdin:
        run_numpy_cell(numpy, operations, json.loads(line), max_seconds)
        say(ready=True)


def main():
    setup = json.loads(sys.stdin.readline())
    device = setup["device"]
    if setup.get("reductions"):
        import reductions

        reductions.serve(setup)
        return
    try:
        import torch
    except Exception as error:  # any broken installation is a missing peer
        say(missing=f"torch: {error}")
        if setup.get("linear") and device == "cpu":
            serve_numpy(setup["maxSecondsPerCell"])
        return
    if device != "cpu" and not torch.cuda.is_available():
        say(missing=f"torch {torch.__version__} sees no CUDA device")
        return
    torch.backends.cuda.matmul.allow_tf32 = False
    peers = find_peers(torch, setup)
    timer = timer_for(torch, device)
    say(ready=True)
    for line in sys.stdin:
        run_cell(torch, peers, timer, device, json.loads(line), setup["maxSecondsPerCell"])
        say(ready=True)


if __name__ == "__main__":
    main()
