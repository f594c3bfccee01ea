"""Times what `mercer bench autodiff` measures in torch or in JAX, with errors against float64 in numpy.

The first argument is a set-up as JSON: {"library": "torch" or "jax", "device": "cpu" or "cuda:0", "names": [...], "sizes": {batch,
elements, points, matrix}}. The last line of the output is {"versions": {...}, "rows": [...], "missing": [...]}; a row is {operation, library, way, n, us, error, host?,
peakSizes?} with times in microseconds as {median, p10, p90, count}.
"""

import json
import os
import sys
import time

sys.dont_write_bytecode = True  # nothing is left beside these scripts
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # its peak says what it needs
import numpy as np
from common import first_line, measure, spread, timer_for, version_of

WIDTHS, RATE, STEPS, CYCLES, CHECKED, MAX_SECONDS = (784, 256, 256, 10), 0.05, 10, 20, 1000, 5
HOST_CALLS, HOST_WARM_UP, HOST_ROUNDS = 4, 20, 40
BUSY_CYCLES = 28_000_000  # some 14 ms of an H200


# The same numbers as Mercer's.


def hashed_numbers(count, seed, low, high):
    with np.errstate(over="ignore"):
        h = np.arange(count, dtype=np.uint32) + np.uint32((seed * 0x9E3779B9) & 0xFFFFFFFF)
        h *= np.uint32(0x85EBCA6B)
        h ^= h >> np.uint32(15)
        h *= np.uint32(0xC2B2AE35)
        h ^= h >> np.uint32(13)
    return (low + (high - low) * (h / 2.0**32)).astype(np.float32)


def network(batch):
    parameters = []
    for k, (inputs, outputs) in enumerate(zip(WIDTHS, WIDTHS[1:])):
        bound = (6 / inputs) ** 0.5
        parameters.append(hashed_numbers(inputs * outputs, 10 + k, -bound, bound).reshape(inputs, outputs))
        parameters.append(hashed_numbers(outputs, 20 + k, -0.1, 0.1))
    images = hashed_numbers(batch * WIDTHS[0], 30, 0, 1).reshape(batch, WIDTHS[0])
    return parameters, images, (7 * np.arange(batch)) % WIDTHS[-1]


# Truth in float64.


def true_gradients(parameters, images, labels):
    parameters = [one.astype(np.float64) for one in parameters]
    inputs = [images.astype(np.float64)]
    for weight, bias in zip(parameters[::2], parameters[1::2]):
        scores = inputs[-1] @ weight + bias
        inputs.append(np.maximum(scores, 0))
    shares = np.exp(scores - scores.max(1, keepdims=True))
    slopes = shares / shares.sum(1, keepdims=True)
    slopes[np.arange(len(labels)), labels] -= 1
    slopes /= len(labels)
    found = []
    for k in reversed(range(len(WIDTHS) - 1)):
        found[:0] = [inputs[k].T @ slopes, slopes.sum(0)]
        slopes = (slopes @ parameters[2 * k].T) * (inputs[k] > 0)
    return found


def true_chain(x):
    value, slope = x.astype(np.float64), np.ones(len(x))
    for _ in range(CYCLES):
        inside = value * 1.05 + 0.1
        slope *= 1.05 * np.cos(inside) * 1.02
        value = (np.sin(inside) - 0.05) * 1.02
    return dict(value=value, gradient=slope)


def relative_error(found, truth):
    off = float(np.max(np.abs(np.asarray(found, dtype=np.float64) - truth)))
    return off if off == 0 else off / float(np.max(np.abs(truth)))


def worst_error(found, truth):
    return max(relative_error(one, right) for one, right in zip(found, truth))


def checked(elements):
    places = (np.arange(CHECKED) * (elements - 1)) // (CHECKED - 1)
    return places if elements > CHECKED else np.arange(elements)


def broadcast_ways(rows, columns):
    """Name, shapes and whether the second operand is transposed, and whether both are multiplied."""
    three = rows * columns // 3
    return [
        ("row and matrix", (rows, columns), (columns,), False, False),
        ("row and matrix of an odd number of columns", (rows, columns - 1), (columns - 1,), False, False),
        ("row and matrix of three columns", (three, 3), (3,), False, False),
        ("column and matrix", (rows, columns), (rows, 1), False, True),
        ("outer products", (rows // 256, 256, 1), (rows // 256, 1, columns), False, True),
        ("matrix and transposed matrix", (rows, columns), (columns, rows), True, False),
    ]


def broadcast_rows(peer, sizes, prefix, compiled=lambda f: f):
    """The same for both libraries, whose arrays broadcast likewise."""
    for way, one, other, turned, multiplied in broadcast_ways(*sizes["matrix"]):
        first = hashed_numbers(int(np.prod(one)), 5, 0, 1).reshape(one)
        second = hashed_numbers(int(np.prod(other)), 6, 0, 1).reshape(other)
        a, b = peer.put(first), peer.put(second)
        compute = compiled(lambda a, b: a * b if multiplied else a + (b.T if turned else b))
        call = lambda: compute(a, b)
        found = call()
        places = checked(int(np.prod(found.shape)))
        at = np.unravel_index(places, tuple(found.shape))
        second = second.T if turned else second
        operands = [np.broadcast_to(one, found.shape)[at].astype(np.float64) for one in (first, second)]
        truth = operands[0] * operands[1] if multiplied else operands[0] + operands[1]
        numbers = np.asarray(found.cpu() if hasattr(found, "cpu") else found)
        error = relative_error(numbers[at], truth)
        n = int(np.prod(found.shape))
        del found, numbers
        yield dict(operation="broadcast", way=f"{prefix}, {way}", n=n, us=peer.us(call, STEPS), error=error)


def chain(x, sin):
    for _ in range(CYCLES):
        x = (sin(x * 1.05 + 0.1) - 0.05) * 1.02
    return x


def host_times(call, synchronize, before=None):
    times = []
    for number in range(-HOST_WARM_UP, HOST_ROUNDS):
        synchronize()
        if before is not None:
            before()
        start = time.perf_counter()
        for _ in range(HOST_CALLS):
            call()
        if number >= 0:
            times.append((time.perf_counter() - start) / HOST_CALLS * 1e6)
    synchronize()
    return spread(times)


class Torch:
    """Events around each round of calls on a GPU, the clock on a CPU."""

    def __init__(self, device):
        import torch

        self.torch, self.device = torch, device
        self.versions = {"torch": version_of(torch)}
        self.timer = timer_for(torch, device)

    def synchronize(self):
        if self.device != "cpu":
            self.torch.cuda.synchronize()

    def us(self, call, calls=1):
        def calls_in_a_row():
            for _ in range(calls):
                call()

        ms = measure(self.timer, calls_in_a_row, MAX_SECONDS)
        return {key: value if key == "count" else value * 1e3 / calls for key, value in ms.items()}

    def put(self, array):
        return self.torch.from_numpy(array).to(self.device)

    def peak(self, call, size):
        if self.device == "cpu":
            return {}
        self.synchronize()
        self.torch.cuda.reset_peak_memory_stats()
        call()
        self.synchronize()
        return dict(peakSizes=self.torch.cuda.max_memory_allocated() / size)

    def chain(self, sizes):
        torch = self.torch
        data = hashed_numbers(sizes["elements"], 1, -1, 1)
        places = checked(len(data))
        truth = true_chain(data[places])
        leaf = self.put(data).requires_grad_()

        def value():
            with torch.no_grad():
                return chain(leaf, torch.sin)

        def gradient():
            return torch.autograd.grad(chain(leaf, torch.sin).sum(), leaf)[0]

        for way, call in dict(value=value, gradient=gradient).items():
            error = relative_error(call().cpu().numpy()[places], truth[way])
            memory = self.peak(call, data.nbytes)
            yield dict(operation="chain", way=f"eager {way}", n=len(data), us=self.us(call), error=error, **memory)

    def expSum(self, sizes):
        data = hashed_numbers(sizes["elements"], 2, -1, 1)
        z = self.put(data)
        call = lambda: ((z - 1) * 0.5).exp().sum()
        truth = np.exp((data.astype(np.float64) - 1) * 0.5).sum()
        yield dict(operation="expSum", way="eager", n=len(data), us=self.us(call, STEPS), error=relative_error(call().item(), truth))

    def broadcast(self, sizes):
        yield from broadcast_rows(self, sizes, "eager")

    def sgdStep(self, sizes):
        torch, batch = self.torch, sizes["batch"]
        numbers, images, labels = network(batch)
        truth = true_gradients(numbers, images, labels)
        images, labels = self.put(images), self.put(labels)

        def made():
            parameters = [self.put(one.copy()).requires_grad_() for one in numbers]
            optimizer = torch.optim.SGD(parameters, lr=RATE)

            def step():
                optimizer.zero_grad(set_to_none=True)
                x = images
                for k in range(0, len(parameters), 2):
                    x = torch.addmm(parameters[k + 1], x, parameters[k])
                    if k + 2 < len(parameters):
                        x = torch.relu(x)
                torch.nn.functional.cross_entropy(x, labels).backward()
                optimizer.step()

            return parameters, step

        def gradients(parameters):
            return [one.grad.cpu().numpy() for one in parameters]

        def row(way, step, error):
            host = dict(idleUs=host_times(step, self.synchronize))
            if self.device != "cpu":
                host["busyUs"] = host_times(step, self.synchronize, lambda: torch.cuda._sleep(BUSY_CYCLES))
            return dict(operation="sgdStep", way=way, n=batch, us=self.us(step, STEPS), error=error, host=host)

        parameters, step = made()
        step()
        yield row("eager", step, worst_error(gradients(parameters), truth))
        if self.device == "cpu":
            return
        parameters, step = made()
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):  # what a capture must not do for the first time
            for _ in range(3):
                step()
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            step()
        with torch.no_grad():
            for one, number in zip(parameters, numbers):
                one.copy_(self.put(number))
        graph.replay()
        yield row("CUDA graph", graph.replay, worst_error(gradients(parameters), truth))


class Jax:
    """The clock around each round of calls, whose last result is waited for."""

    def __init__(self, device):
        import jax
        import jax.nn
        import jax.numpy

        self.jax = jax
        self.versions = {"jax": version_of(jax)}
        kind, _, index = device.partition(":")
        self.device = jax.devices("gpu" if kind == "cuda" else "cpu")[int(index or 0)]
        self.wall = timer_for(None, "cpu")

    def us(self, call, calls=1):
        def calls_in_a_row():
            for _ in range(calls):
                result = call()
            self.jax.block_until_ready(result)

        ms = measure(self.wall, calls_in_a_row, MAX_SECONDS)
        return {key: value if key == "count" else value * 1e3 / calls for key, value in ms.items()}

    def put(self, array):
        return self.jax.device_put(array, self.device)

    def chain(self, sizes):
        jax = self.jax
        data = hashed_numbers(sizes["elements"], 1, -1, 1)
        x, places = self.put(data), checked(len(data))
        truth = true_chain(data[places])
        value = jax.jit(lambda v: chain(v, jax.numpy.sin))
        gradient = jax.jit(jax.grad(lambda v: chain(v, jax.numpy.sin).sum()))
        for way, compiled in dict(value=value, gradient=gradient).items():
            call = lambda: compiled(x)
            error = relative_error(np.asarray(call())[places], truth[way])
            stats = self.device.memory_stats() or {}
            memory = {}
            if "peak_bytes_in_use" in stats:
                memory = dict(peakSizes=stats["peak_bytes_in_use"] / data.nbytes)
            yield dict(operation="chain", way=f"jit {way}", n=len(data), us=self.us(call), error=error, **memory)

    def expSum(self, sizes):
        data = hashed_numbers(sizes["elements"], 2, -1, 1)
        z = self.put(data)
        compiled = self.jax.jit(lambda v: self.jax.numpy.exp((v - 1) * 0.5).sum())
        call = lambda: compiled(z)
        truth = np.exp((data.astype(np.float64) - 1) * 0.5).sum()
        yield dict(operation="expSum", way="jit", n=len(data), us=self.us(call, STEPS), error=relative_error(call(), truth))

    def sgdStep(self, sizes):
        jax, batch = self.jax, sizes["batch"]
        numbers, images, labels = network(batch)
        truth = true_gradients(numbers, images, labels)
        images, labels = self.put(images), self.put(labels)
        # what JAX takes by default may be TF32
        for way, precision in {"jit": None, "jit, float32 products": "highest"}.items():

            def loss(parameters, images, labels):
                x = images
                for k in range(0, len(parameters), 2):
                    x = jax.numpy.matmul(x, parameters[k], precision=precision) + parameters[k + 1]
                    if k + 2 < len(parameters):
                        x = jax.nn.relu(x)
                shares = jax.nn.log_softmax(x)
                return -jax.numpy.take_along_axis(shares, labels[:, None], 1).mean()

            def step(parameters, images, labels):
                value, slopes = jax.value_and_grad(loss)(parameters, images, labels)
                return [one - RATE * slope for one, slope in zip(parameters, slopes)], value

            found = jax.jit(jax.grad(loss))([self.put(one) for one in numbers], images, labels)
            error = worst_error(found, truth)
            compiled = jax.jit(step, donate_argnums=0)
            state = [[self.put(one) for one in numbers]]

            def call():
                state[0], value = compiled(state[0], images, labels)
                return value

            host = dict(idleUs=host_times(call, lambda: jax.block_until_ready(state[0])))
            yield dict(operation="sgdStep", way=way, n=batch, us=self.us(call, STEPS), error=error, host=host)


def main():
    set_up = json.loads(sys.argv[1])
    library, rows, missing, versions = set_up["library"], [], [], {}
    try:
        peer = dict(torch=Torch, jax=Jax)[library](set_up["device"])
        versions = peer.versions
    except Exception as error:
        missing.append(f"{library}: {first_line(error)}")
        set_up["names"] = []
    for operation in set_up["names"]:
        measured = getattr(peer, operation, None)
        try:
            rows += [dict(library=library, **row) for row in measured(set_up["sizes"])] if measured else []
        except Exception as error:  # one operation of a peer may not work
            missing.append(f"{library} {operation}: {first_line(error)}")
        # what takes the process down does not take the figures before it
        print(json.dumps(dict(versions=versions, rows=rows, missing=missing)), flush=True)
    print(json.dumps(dict(versions=versions, rows=rows, missing=missing)), flush=True)


main()
