"""Times what `mercer bench optim` measures in torch: steps of torch.optim, a root by torch.linalg.eigh, gradients of each example by torch.func.

The first argument is a set-up as JSON: {"device": "cpu" or "cuda:0", "names": [...], "sizes": {vectors, matrices, elements, rootRows, perSample}, "rate",
"momentum", "history", "condition"}. The last line of the output is {"versions": {...}, "rows": [...], "missing": [...]}; a row is {operation, library, way, n, tensors, us, host} with
times in microseconds as {median, p10, p90, count}.
"""

import json
import sys
import time

sys.dont_write_bytecode = True  # nothing is left beside these scripts
from common import first_line, measure, spread, timer_for, version_of

STEPS, MAX_SECONDS = 10, 5
HOST_CALLS, HOST_WARM_UP, HOST_ROUNDS = 4, 10, 20


class Torch:
    def __init__(self, set_up):
        import torch

        self.torch, self.set_up, self.device = torch, set_up, set_up["device"]
        self.versions = {"torch": version_of(torch)}
        self.timer = timer_for(torch, self.device)

    def synchronize(self):
        if self.device != "cpu":
            self.torch.cuda.synchronize()

    def us(self, call):
        def calls():
            for _ in range(STEPS):
                call()

        ms = measure(self.timer, calls, MAX_SECONDS)
        return {key: value if key == "count" else value * 1e3 / STEPS for key, value in ms.items()}

    def host(self, call):
        times = []
        for number in range(-HOST_WARM_UP, HOST_ROUNDS):
            self.synchronize()
            start = time.perf_counter()
            for _ in range(HOST_CALLS):
                call()
            if number >= 0:
                times.append((time.perf_counter() - start) / HOST_CALLS * 1e6)
        self.synchronize()
        return dict(idleUs=spread(times))

    def parameters(self, count, shape):
        torch = self.torch
        made = []
        for _ in range(count):
            one = torch.rand(shape, device=self.device).mul_(2).sub_(1).requires_grad_()
            one.grad = torch.rand(shape, device=self.device).mul_(2).sub_(1)
            made.append(one)
        return made

    def rows(self, operation, count, shape, ways):
        rows = []
        for way, make in ways.items():
            params = self.parameters(count, shape)
            n = sum(one.numel() for one in params)
            optimizer = make(params)
            row = dict(operation=operation, way=way, n=n, tensors=count)
            rows.append(dict(row, us=self.us(optimizer.step), host=self.host(optimizer.step)))
        return rows

    def vectors(self, operation, make):
        count, size = self.set_up["sizes"]["vectors"]
        ways = {way: (lambda params, way=way: make(params, **{way: True})) for way in ("fused", "foreach")}
        return self.rows(operation, count, (size,), ways)

    def sgd(self):
        options = dict(lr=self.set_up["rate"], momentum=self.set_up["momentum"])
        return self.vectors("sgd", lambda p, **way: self.torch.optim.SGD(p, **options, **way))

    def adam(self):
        return self.vectors("adam", lambda p, **way: self.torch.optim.Adam(p, lr=self.set_up["rate"], **way))

    def adamW(self):
        return self.vectors("adamW", lambda p, **way: self.torch.optim.AdamW(p, lr=self.set_up["rate"], **way))

    def muon(self):
        count, n = self.set_up["sizes"]["matrices"]
        make = self.torch.optim.Muon
        return self.rows("muon", count, (n, n), {"step": lambda params: make(params, lr=self.set_up["rate"])})

    def lbfgs(self):
        torch = self.torch
        x = torch.rand(self.set_up["sizes"]["elements"], device=self.device).mul_(2).sub_(1).requires_grad_()
        optimizer = torch.optim.LBFGS([x], lr=0.1, max_iter=1, history_size=self.set_up["history"])
        value = torch.ones((), device=self.device)

        def closure():
            with torch.no_grad():
                x.grad = x * 0.5 + x * x * 0.01
            return value

        def call():
            optimizer.step(closure)

        for _ in range(self.set_up["history"] + 1):
            call()
        return [dict(operation="lbfgs", way="step", n=x.numel(), tensors=1, us=self.us(call))]

    def shampoo(self):
        return []  # torch has none

    def roots(self):
        torch, n = self.torch, self.set_up["sizes"]["rootRows"]
        q, _ = torch.linalg.qr(torch.randn(n, n, dtype=torch.float64, device=self.device))
        places = torch.arange(n, dtype=torch.float64, device=self.device) / (n - 1)
        scaled = q * self.set_up["condition"] ** (-places / 2)
        a = (scaled @ scaled.T).float()

        def call():
            values, vectors = torch.linalg.eigh(a)
            return (vectors * values**-0.25) @ vectors.T

        x = call().double()
        off = x @ x @ x @ x @ a.double() - torch.eye(n, dtype=torch.float64, device=self.device)
        error = (torch.linalg.norm(off) / n**0.5).item()
        return [dict(operation="roots", way="eigh", n=n * n, tensors=1, us=self.us(call), error=error)]

    def perSample(self):
        torch = self.torch
        from torch.func import functional_call, grad, vmap

        widths, batch = self.set_up["sizes"]["perSample"]
        modules = []
        for k, inputs in enumerate(widths[:-1]):
            modules += [torch.nn.ReLU()] if k > 0 else []
            modules.append(torch.nn.Linear(inputs, widths[k + 1]))
        network = torch.nn.Sequential(*modules).to(self.device)
        params = {name: one.detach() for name, one in network.named_parameters()}
        images = torch.rand(batch, widths[0], device=self.device)
        labels = torch.arange(batch, device=self.device) * 7 % widths[-1]

        def loss(given, image, label):
            scores = functional_call(network, given, (image.unsqueeze(0),))
            return torch.nn.functional.cross_entropy(scores, label.unsqueeze(0))

        each = vmap(grad(loss), in_dims=(None, 0, 0))
        n = batch * sum(one.numel() for one in params.values())
        way = "vmap(grad) of each example"
        return [dict(operation="perSample", way=way, n=n, tensors=len(params), us=self.us(lambda: each(params, images, labels)))]


def main():
    set_up = json.loads(sys.argv[1])
    rows, missing, versions = [], [], {}
    try:
        peer = Torch(set_up)
        versions = peer.versions
    except Exception as error:
        missing.append(f"torch: {first_line(error)}")
        set_up["names"] = []
    for operation in set_up["names"]:
        try:
            rows += [dict(library="torch", **row) for row in getattr(peer, operation)()]
        except Exception as error:  # one optimiser of a peer may not work
            missing.append(f"torch {operation}: {first_line(error)}")
        # what takes the process down does not take the figures before it
        print(json.dumps(dict(versions=versions, rows=rows, missing=missing)), flush=True)
    print(json.dumps(dict(versions=versions, rows=rows, missing=missing)), flush=True)


main()
