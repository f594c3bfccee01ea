"""The steps of torch.optim in float64, for the tests of this package.

    python3 packages/optim/test/torch-optim.py > packages/optim/test/torch-optim.json

Needs torch (any build; it runs on the CPU). Tests compare with the committed values.
"""

import json
import math

import torch

torch.set_default_dtype(torch.float64)

SIZES = [12, 4, 1]


def wave(k):
    return math.sin(1.7 * k + 0.3) + 0.25 * math.cos(0.37 * k * k)


def begin():
    return [
        torch.tensor([wave(3 * i + 17 * s) for i in range(size)], requires_grad=True)
        for s, size in enumerate(SIZES)
    ]


def gradient(params, step):
    """That of testing/trajectory.test-support.ts."""
    return [
        torch.tensor(
            [
                (1 + (i + s) % 3) * math.sinh(x) + 0.1 * wave(step * 31 + i + 5 * s)
                for i, x in enumerate(one.detach().tolist())
            ]
        )
        for s, one in enumerate(params)
    ]


def first_order(make):
    params = begin()
    optimizer = make(params)
    for step in range(1, 21):
        for one, grad in zip(params, gradient(params, step)):
            one.grad = grad
        optimizer.step()
    return [one.detach().tolist() for one in params]


def rosenbrock(x):
    return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()


def lbfgs(steps, **options):
    x = torch.tensor([-1.2, 1.0, 0.5, -0.3, 0.8, 1.5], requires_grad=True)
    optimizer = torch.optim.LBFGS([x], **options)

    def closure():
        optimizer.zero_grad()
        value = rosenbrock(x)
        value.backward()
        return value

    points = []
    for _ in range(steps):
        optimizer.step(closure)
        points.append(x.detach().tolist())
    return points


O = torch.optim
print(
    json.dumps(
        {
            "torch": torch.__version__,
            "firstOrder": [
                {"optimiser": name, "options": options, "params": first_order(make)}
                for name, options, make in [
                    ("sgd", {"lr": 0.05}, lambda p: O.SGD(p, lr=0.05)),
                    (
                        "sgd",
                        {"lr": 0.05, "momentum": 0.9, "dampening": 0.3, "weightDecay": 0.1},
                        lambda p: O.SGD(p, lr=0.05, momentum=0.9, dampening=0.3, weight_decay=0.1),
                    ),
                    (
                        "sgd",
                        {"lr": 0.05, "momentum": 0.8, "nesterov": True},
                        lambda p: O.SGD(p, lr=0.05, momentum=0.8, nesterov=True),
                    ),
                    ("adam", {}, lambda p: O.Adam(p)),
                    (
                        "adam",
                        {"lr": 0.1, "betas": [0.8, 0.95], "eps": 1e-3, "weightDecay": 0.1},
                        lambda p: O.Adam(p, lr=0.1, betas=(0.8, 0.95), eps=1e-3, weight_decay=0.1),
                    ),
                    ("adamW", {"lr": 0.02}, lambda p: O.AdamW(p, lr=0.02)),
                ]
            ],
            "lbfgs": [
                {
                    "options": {
                        "lineSearch": "none",
                        "lr": 0.0005,
                        "maxIterations": 1,
                        "history": 4,
                    },
                    "points": lbfgs(20, lr=0.0005, max_iter=1, history_size=4),
                },
                {
                    "options": {"maxIterations": 1, "history": 100},
                    "points": lbfgs(
                        20,
                        max_iter=1,
                        # leaves a line search its 25 evaluations
                        max_eval=26,
                        history_size=100,
                        line_search_fn="strong_wolfe",
                    ),
                },
                {
                    "options": {"maxIterations": 4, "history": 3},
                    "points": lbfgs(5, max_iter=4, history_size=3, line_search_fn="strong_wolfe"),
                },
            ],
        },
        indent=2,
    )
)
