"""Systems (K + alpha I) x = b with kernel matrices K = exp(-gamma |x_i - x_j|^2), by KeOps, GPyTorch and dense torch.

Each peer is brought to the true residual that is asked for: what it takes for its tolerance is lowered until norm(b - A x) <= tolerance
norm(b), computed in float64 as in operations/solves.ts. A function takes the operands and the cell and gives a call, whose
`figures` are its iterations and its residual.
"""

import contextlib
import math

from common import first_line, say, spread_indices, version_of

NAMES = ("solve", "inverseKernel")
MOST_COMPONENTS, LEAST_ROWS = 3e8, 256
TRIES, STEP = 8, 0.5
# a peer that has not converged then, in any of its tries, will not
MOST_ITERATIONS = 3000


def residual(numpy, cell, x, b, found):
    """The norm of b - A x by that of b, in float64; of a sample of rows where there are many."""
    n, d = cell["n"], cell["d"]
    gamma, alpha = cell["parameters"]["gamma"], cell["parameters"]["alpha"]
    rows = spread_indices(n, min(n, max(LEAST_ROWS, int(MOST_COMPONENTS // (n * d)))))
    found = numpy.asarray(found).reshape(n).astype("float64")
    b = b.reshape(n)
    left = 0.0
    for row in rows:
        difference = x[row] - x
        product = numpy.exp(-gamma * (difference * difference).sum(1)) @ found + alpha * found[row]
        left += (b[row] - product) ** 2
    return math.sqrt(left * n / (len(rows) * (b @ b)))


class Call:
    """A solve that is repeated, with what is known of it."""

    def __init__(self, run, **figures):
        self.run, self.figures = run, figures

    def __call__(self):
        return self.run()


def brought_to_tolerance(numpy, cell, operands, solve):
    """`solve(tolerance)` gives a solution and its iterations. Begins with the tolerance itself and lowers it as far as it must."""
    host = {name: to_numpy(values).astype("float64") for name, values in operands.items()}
    goal = cell["parameters"]["tolerance"]
    tolerance, reached = goal, math.inf
    for _ in range(TRIES):
        found, iterations = solve(tolerance)
        reached = residual(numpy, cell, host["x"], host["b"], to_numpy(found))
        if reached <= goal:
            asked = tolerance
            return Call(lambda: solve(asked)[0], iterations=iterations, residual=reached, asked=asked)
        tolerance *= STEP
    raise ArithmeticError(f"its residual is {reached:.1e}, also where {tolerance / STEP:.1e} is asked for")


def to_numpy(values):
    return values.detach().cpu().numpy() if hasattr(values, "detach") else values


def keops(numpy, device):
    """KernelSolve, of the numpy interface on a CPU and of the torch interface on a GPU."""
    if device == "cpu":
        import pykeops.numpy as interface
        import pykeops.numpy.operations as module
    else:
        import pykeops.torch as interface
        import pykeops.torch.operations as module

    def prepare(operands, cell):
        d, n = cell["d"], cell["n"]
        gamma, alpha = cell["parameters"]["gamma"], cell["parameters"]["alpha"]
        inputs = [f"x = Vi({d})", f"y = Vj({d})", "b = Vj(1)", "g = Pm(1)"]
        solver = interface.KernelSolve("Exp(-g * SqDist(x, y)) * b", inputs, "b", axis=1)
        x, b = operands["x"], operands["b"]
        g = x[:1, 0] * 0 + gamma
        # it stops where sum(r^2) < size(b) eps^2
        by_size = float((b * b).sum() / n) ** 0.5

        def solve(tolerance):
            with counted(module, MOST_ITERATIONS) as count:
                found = solver(x, x, b, g, alpha=alpha, eps=tolerance * by_size)
            return found, count.products

        return brought_to_tolerance(numpy, cell, operands, solve)

    return dict.fromkeys(NAMES, prepare)


@contextlib.contextmanager
def counted(module, most):
    """Counts the products of KeOps' solver, which has no limit of its own."""
    original = module.ConjugateGradientSolver
    count = Call(None)
    count.products = 0

    def solver(binding, linop, b, eps):
        def product(p):
            count.products += 1
            if count.products > most:
                raise ArithmeticError(f"not converged after {most} iterations")
            return linop(p)

        return original(binding, product, b, eps=eps)

    module.ConjugateGradientSolver = solver
    try:
        yield count
    finally:
        module.ConjugateGradientSolver = original


def dense(torch):
    """The matrix is stored, and factored."""

    def prepare(operands, cell):
        x, b = operands["x"], operands["b"]
        gamma, alpha = cell["parameters"]["gamma"], cell["parameters"]["alpha"]

        def run():
            matrix = torch.cdist(x, x).square_().mul_(-gamma).exp_()
            matrix.diagonal().add_(alpha)
            return torch.cholesky_solve(b, torch.linalg.cholesky(matrix))

        return run

    return dict.fromkeys(NAMES, prepare)


def find_gpytorch(torch, numpy):
    """GPyTorch's conjugate gradients on its own kernel, with its pivoted Cholesky preconditioner; through KeOps where it can."""
    try:
        import gpytorch
        from linear_operator import settings
        from linear_operator.utils import linear_cg
    except Exception as error:
        say(missing=f"gpytorch: {first_line(error)}")
        return {}
    say(versions={"gpytorch": version_of(gpytorch)})
    try:
        from gpytorch.kernels.keops import RBFKernel
    except Exception:
        from gpytorch.kernels import RBFKernel

    def prepare(operands, cell):
        if cell.get("preconditioner") not in (None, "pivotedCholesky"):
            return None
        x, b = operands["x"], operands["b"]
        gamma, alpha = cell["parameters"]["gamma"], cell["parameters"]["alpha"]
        kernel = RBFKernel().to(x)
        kernel.lengthscale = (2 * gamma) ** -0.5

        def solve(tolerance):
            count = 0

            def product(operator):
                def multiply(v):
                    nonlocal count
                    count += 1
                    return operator.matmul(v)

                return multiply

            with (
                settings.max_preconditioner_size(cell.get("rank", 0)),
                settings.min_preconditioning_size(1),
                settings.max_cholesky_size(1),
            ):
                operator = kernel(x).add_diagonal(torch.full((len(x),), alpha).to(x)).evaluate_kernel()
                preconditioner = operator._preconditioner()[0] if cell.get("preconditioner") else None
                found = linear_cg(
                    product(operator),
                    b,
                    tolerance=tolerance,
                    max_iter=MOST_ITERATIONS,
                    max_tridiag_iter=0,
                    preconditioner=preconditioner,
                )
            return found, count

        return brought_to_tolerance(numpy, cell, operands, solve)

    return {"gpytorch": dict.fromkeys(NAMES, prepare)}
