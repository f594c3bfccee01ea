"""Times KeOps and dense torch on what `mercer bench keops` and `solvers` measure; see peers.py for the lines.

KeOps runs through its torch LazyTensor on a GPU and through its numpy LazyTensor on a CPU, where numpy is all that it needs.
A peer's function takes the operands by name, (rows, d) or (batch, rows, d), and the cell, and gives a call that computes; what
can be kept from call to call is made before it. Systems with kernel matrices are in solves.py.
"""

import contextlib
import json
import math
import os
import pathlib
import sys

import solves
from common import finite, first_line, measure, say, spread_indices, timer_for, version_of


LLOYD_ITERATIONS = 10


def k_means(stack, labels_from, means_of):
    """Lloyd's algorithm as in KeOps' tutorial; a centroid without points stays. Gives the centroids before the last update, its
    labels and the centroids after. `labels_from(points)` gives a function of centroids."""

    def run(points, centroids):
        labels_of = labels_from(points)

        def call():
            after = centroids
            for _ in range(LLOYD_ITERATIONS):
                before, labels = after, labels_of(after)
                after = means_of(points, labels, before)
            return before, labels, after

        return call

    def prepare(x, _):
        if len(x["x"].shape) == 2:
            return run(x["x"], x["y"])
        calls = [run(points, centroids) for points, centroids in zip(x["x"], x["y"])]
        return lambda: tuple(stack(parts) for parts in zip(*(call() for call in calls)))

    return prepare


def torch_means(torch):
    def means_of(points, labels, old):
        sums = torch.zeros_like(old).scatter_add_(0, labels[:, None].expand(-1, old.shape[1]), points)
        counts = torch.bincount(labels, minlength=len(old)).type_as(old)[:, None]
        return torch.where(counts > 0, sums / counts, old)

    return means_of


def numpy_means(numpy):
    def means_of(points, labels, old):
        counts = numpy.bincount(labels, minlength=len(old))[:, None]
        sums = [numpy.bincount(labels, column, len(old)) for column in points.T]
        return numpy.where(counts > 0, numpy.stack(sums, 1) / numpy.maximum(counts, 1), old).astype(old.dtype)

    return means_of


def keops_operations(LazyTensor, gaussian_gradient, stack=None, means_of=None):
    """Of either interface of KeOps: the symbolic matrix is made once."""

    def square(x):
        return ((LazyTensor(x["x"][..., :, None, :]) - LazyTensor(x["y"][..., None, :, :])) ** 2).sum(-1)

    def j_axis(x):
        return len(x["x"].shape) - 1

    def product(kernel):
        def prepare(x, _):
            matrix = kernel(square(x))
            return lambda: matrix @ x["b"]

        return prepare

    def log_sum_exp(x, _):
        exponent = -square(x)
        return lambda: exponent.logsumexp(axis=j_axis(x))

    def nearest(x, cell):
        distances = square(x)
        return lambda: distances.argKmin(cell["k"], axis=j_axis(x))

    def assignment(x, _):
        distances = square(x)
        return lambda: distances.argmin(axis=j_axis(x))

    def labels_from(points):
        x_i = LazyTensor(points[:, None, :])
        return lambda centroids: ((x_i - LazyTensor(centroids[None])) ** 2).sum(-1).argmin(axis=1).reshape(-1)

    return {
        "gaussianSum": product(lambda s: (-s).exp()),
        "laplacianSum": product(lambda s: (-s.sqrt()).exp()),
        "logSumExp": log_sum_exp,
        "gaussianGradient": gaussian_gradient,
        "nearest": nearest,
        "kMeansAssignment": assignment,
        "kMeans": k_means(stack, labels_from, means_of),
    }


def torch_keops_operations(torch):
    from pykeops.torch import LazyTensor

    def gaussian_gradient(x, _):
        with torch.enable_grad():
            points = x["x"].clone().requires_grad_()
            operations = keops_operations(LazyTensor, None)
            value_of = operations["gaussianSum"]({**x, "x": points}, None)

        return torch_value_and_gradient(torch, points, value_of)

    return keops_operations(LazyTensor, gaussian_gradient, torch.stack, torch_means(torch))


def torch_value_and_gradient(torch, points, value_of):
    """Forward and backward pass."""

    def call():
        with torch.enable_grad():
            value = value_of()
            (gradient,) = torch.autograd.grad(value.sum(), points)
        return value, gradient

    return call


def numpy_keops_operations(numpy):
    """No derivatives by themselves: the gradient is the formula that the torch interface would compute."""
    from pykeops.numpy import Genred, LazyTensor

    def gaussian_gradient(x, cell):
        d = cell["d"]
        inputs = [f"x = Vi({d})", f"y = Vj({d})", "b = Vj(1)", "e = Vi(1)"]
        value_of = keops_operations(LazyTensor, None)["gaussianSum"](x, cell)
        gradient_of = Genred("Grad(Exp(-SqDist(x, y)) * b, x, e)", inputs, reduction_op="Sum", axis=1)
        ones = numpy.ones_like(x["x"][..., :1])
        return lambda: (value_of(), gradient_of(x["x"], x["y"], x["b"], ones))

    return keops_operations(LazyTensor, gaussian_gradient, numpy.stack, numpy_means(numpy))


def dense_operations(torch):
    """The matrix of distances is stored."""

    def square(x):
        return torch.cdist(x["x"], x["y"]).square_()

    def gaussian_gradient(x, _):
        points = x["x"].clone().requires_grad_()

        def value_of():
            distance = torch.cdist(points, x["y"])
            return torch.exp(-distance * distance) @ x["b"]

        return torch_value_and_gradient(torch, points, value_of)

    def labels_from(points):
        return lambda centroids: torch.cdist(points, centroids).argmin(-1)

    return {
        "gaussianSum": lambda x, _: lambda: square(x).neg_().exp_() @ x["b"],
        "laplacianSum": lambda x, _: lambda: torch.cdist(x["x"], x["y"]).neg_().exp_() @ x["b"],
        "logSumExp": lambda x, _: lambda: torch.logsumexp(square(x).neg_(), -1),
        "gaussianGradient": gaussian_gradient,
        "nearest": lambda x, cell: lambda: torch.cdist(x["x"], x["y"]).topk(cell["k"], largest=False).indices,
        "kMeansAssignment": lambda x, _: lambda: torch.cdist(x["x"], x["y"]).argmin(-1),
        "kMeans": k_means(torch.stack, labels_from, torch_means(torch)),
    }


# How many matrices of distances dense torch holds at a time.
DENSE_COPIES = {"gaussianGradient": 6, "logSumExp": 3}


def check_fits(torch, cell, device):
    size = 4 if cell["dtype"] == "float32" else 8
    needed = cell["batch"] * cell.get("m", cell["n"]) * cell["n"] * size * DENSE_COPIES.get(cell["operation"], 2)
    if device == "cpu":
        free = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
    else:
        free = torch.cuda.mem_get_info(device)[0]
    if needed > free:
        raise MemoryError(f"needs {needed} bytes for the matrix, {free} are free")


# Errors: sampled rows of the last batch entry against float64, like Mercer's own figures.


def checked_rows(cell):
    quick = int(3e8 // (cell["n"] * cell["d"]))
    return spread_indices(cell["m"], min(48, max(4, quick)))


def row_error(numpy, cell, x, y, b, got):
    """Of the results of one row x, in float64 and not yet in units of rounding."""
    operation = cell["operation"]
    difference = x[None, :] - y
    square = (difference * difference).sum(1)
    if operation in ("nearest", "kMeansAssignment"):
        found = got.astype("int64")[: cell["n"]]
        if len(set(found.tolist())) < len(found) or found.min() < 0 or found.max() >= cell["n"]:
            return math.nan
        truth = numpy.sort(numpy.partition(square, len(found) - 1)[: len(found)])
        return relative(numpy, square[found], truth, truth)
    if operation == "logSumExp":
        most = (-square).max()
        value = most + numpy.log(numpy.exp(-square - most).sum())
        return relative(numpy, got, value, 1 + abs(value))
    terms = b * numpy.exp(-numpy.sqrt(square) if operation == "laplacianSum" else -square)
    if operation == "gaussianGradient":
        terms = numpy.concatenate([terms[:, None], -2 * difference * terms[:, None]], 1)
    else:
        terms = terms[:, None]
    return relative(numpy, got, terms.sum(0), abs(terms).sum(0))


def relative(numpy, got, value, scale):
    with numpy.errstate(divide="ignore", invalid="ignore"):
        return float(numpy.where(got == value, 0.0, abs(got - value) / scale).max())


# Pairs of components up to which all iterations are computed again, and how far the inertias may differ.
MOST_COMPONENTS = 3e8
INERTIA_TOLERANCE = 0.02


def k_means_errors(numpy, cell, x, y, result):
    """Of the last iteration: sampled labels and the means; NaN where the iterations before are wrong. As in k-means-errors.ts."""
    m, n, d = cell["m"], cell["n"], cell["d"]
    before, labels, after = [numpy.asarray(part).reshape(cell["batch"], -1)[-1] for part in result]
    before, after = [part.reshape(n, d).astype("float64") for part in (before, after)]
    if labels.min() < 0 or labels.max() >= n:
        return [math.nan]
    labels = labels.astype("int64")

    def squares(rows, centroids):
        return ((rows[:, None, :] - centroids[None]) ** 2).sum(-1)

    def inertia(of, centroids):
        return ((x - centroids[of]) ** 2).sum()

    rows = checked_rows(cell)
    distances = squares(x[rows], before)
    truth = distances.min(1)
    errors = [relative(numpy, distances[range(len(rows)), labels[rows]], truth, truth)]
    means_of = numpy_means(numpy)
    means, scales = means_of(x, labels, before), means_of(abs(x), labels, before)
    errors.append(relative(numpy, after, means, scales))
    if m * n * d * LLOYD_ITERATIONS <= MOST_COMPONENTS:
        centroids = y
        for _ in range(LLOYD_ITERATIONS):
            chosen = squares(x, centroids).argmin(1)
            wanted = inertia(chosen, centroids)
            centroids = means_of(x, chosen, centroids)
        if not abs(inertia(labels, before) - wanted) <= INERTIA_TOLERANCE * wanted:
            errors.append(math.nan)
    return errors


def error_in_units(numpy, cell, operands, result):
    """The largest over the checked rows; results and operands are numpy's."""
    unit = 2.0**-24 if cell["dtype"] == "float32" else 2.0**-53
    last = {name: values[-1].astype("float64") for name, values in operands.items()}
    if cell["operation"] in solves.NAMES:
        return solves.residual(numpy, cell, last["x"], last["b"], result[0]) / cell["parameters"]["tolerance"]
    if cell["operation"] == "kMeans":
        errors = k_means_errors(numpy, cell, last["x"], last["y"], result)
        return math.nan if any(math.isnan(error) for error in errors) else max(errors) / unit
    m, n = cell["m"], cell["n"]
    parts = [numpy.asarray(part).reshape(cell["batch"], m, -1)[-1] for part in result]
    got = numpy.concatenate([part.astype("float64") for part in parts], 1)
    b = last["b"].reshape(n) if "b" in last else None
    errors = [row_error(numpy, cell, last["x"][row], last["y"], b, got[row]) for row in checked_rows(cell)]
    return math.nan if any(math.isnan(error) for error in errors) else max(errors) / unit


def find_keops(torch, numpy, setup):
    """KeOps' operations, or none with the reason; `keopsPath` names a checkout of its repository."""
    if setup.get("keopsPath"):
        sys.path[:0] = [str(pathlib.Path(setup["keopsPath"]) / name) for name in ("keopscore", "pykeops")]
    os.environ["PYKEOPS_VERBOSE"] = "0"
    try:
        # What its compilers print must not stand between the answers.
        with contextlib.redirect_stdout(sys.stderr):
            if setup["device"] != "cpu" and os.environ.get("MERCER_KEOPS_NVRTC") == "cuda-python":
                import keops_nvrtc

                keops_nvrtc.install(torch)
            import pykeops

            made = numpy_keops_operations(numpy) if setup["device"] == "cpu" else torch_keops_operations(torch)
            made |= solves.keops(numpy, setup["device"])
        say(versions={"pykeops": getattr(pykeops, "__version__", None) or version_of(pykeops)})
        return {"pykeops": made}
    except Exception as error:
        say(missing=f"pykeops: {first_line(error)}")
        return {}


def find_torch(setup):
    try:
        import torch
    except Exception as error:  # any broken installation is a missing peer
        say(missing=f"torch: {first_line(error)}")
        return None
    if setup["device"] != "cpu" and not torch.cuda.is_available():
        say(missing=f"torch {torch.__version__} sees no CUDA device")
        return None
    torch.backends.cuda.matmul.allow_tf32 = False
    return torch


def serve(setup):
    """Answers cells until the input ends."""
    device = setup["device"]
    try:
        import numpy
    except Exception as error:
        say(missing=f"numpy, which the peers need: {first_line(error)}")
        return
    torch = find_torch(setup)
    if torch is None and device != "cpu":
        return
    peers = find_keops(torch, numpy, setup)
    if torch is not None:
        say(versions={"torch": torch.__version__})
        peers["torch"] = {**dense_operations(torch), **solves.dense(torch)}
        if setup.get("systems"):
            peers |= solves.find_gpytorch(torch, numpy)
    timer = timer_for(torch, device)
    say(ready=True)
    for line in sys.stdin:
        run_cell(torch, numpy, peers, timer, device, json.loads(line), setup["maxSecondsPerCell"])
        say(ready=True)


def run_cell(torch, numpy, peers, timer, device, cell, max_seconds):
    named = {key: value for key, value in cell.items() if key not in ("operands", "parameters")}
    host = {
        name: numpy.fromfile(operand["path"], cell["dtype"]).reshape(cell["batch"], *operand["shape"])
        for name, operand in cell["operands"].items()
    }
    for peer, operations in peers.items():
        operation = operations.get(cell["operation"])
        if operation is None or (cell.get("preconditioner") and peer != "gpytorch"):
            continue
        inputs = call = result = None
        try:
            if peer == "torch":
                check_fits(torch, cell, device)
            # Without a batch axis where there is one entry: KeOps takes another path with it.
            inputs = {name: values[0] if cell["batch"] == 1 else values for name, values in host.items()}
            if peer in ("torch", "gpytorch") or device != "cpu":
                inputs = {name: torch.from_numpy(values).to(device) for name, values in inputs.items()}
            with torch.no_grad() if torch is not None else contextlib.nullcontext():
                with contextlib.redirect_stdout(sys.stderr):
                    call = operation(inputs, cell)
                    if call is None:
                        continue
                    ms = measure(timer, call, max_seconds)
                    result = call()
            parts = result if isinstance(result, tuple) else (result,)
            parts = [part.detach().cpu().numpy() if hasattr(part, "detach") else part for part in parts]
            units = error_in_units(numpy, cell, host, parts)
            say(cell={**named, "peer": peer, "ms": ms, **finite(units), **getattr(call, "figures", {})})
        except Exception as error:  # out of memory and unsupported cells are results too
            say(cell={**named, "peer": peer, "error": first_line(error)})
        finally:
            inputs = call = result = None
            if device != "cpu":
                torch.cuda.empty_cache()
