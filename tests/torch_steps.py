"""Writes `torch_steps.json`: parameters after each of some steps of ``torch.optim``, and its learning rates.

``python tests/torch_steps.py``, where PyTorch is installed; test_descent.py compares.
"""

from __future__ import annotations

import json
from pathlib import Path

FILE = Path(__file__).with_suffix(".json")
STEPS = 6
START = [0.5, -1.25, 2.0]
# ½ Σ c (x - t)² has the gradient c (x - t).
CURVATURES, TARGETS = [1.0, 7.0, 1e-4], [1.0, 0.0, -3.0]

# Options in PyTorch's words.
METHODS = {
    "SGD": [
        {"lr": 0.1},
        {"lr": 0.1, "momentum": 0.9},
        {"lr": 0.1, "momentum": 0.9, "nesterov": True},
        {"lr": 0.05, "momentum": 0.8, "dampening": 0.3, "weight_decay": 0.01},
    ],
    "Adam": [
        {},
        {"lr": 0.1, "betas": (0.8, 0.9), "eps": 1e-3},
        {"lr": 0.1, "weight_decay": 0.1},
        {"lr": 0.1, "betas": (0.5, 0.5), "amsgrad": True},
    ],
    "AdamW": [{}, {"lr": 0.1, "weight_decay": 0.5}, {"lr": 0.1, "betas": (0.5, 0.5), "amsgrad": True}],
    "RMSprop": [
        {},
        {"lr": 0.1, "alpha": 0.5, "eps": 1e-3},
        {"lr": 0.1, "momentum": 0.9, "weight_decay": 0.1},
        {"lr": 0.1, "alpha": 0.9, "centered": True},
        {"lr": 0.1, "alpha": 0.9, "centered": True, "momentum": 0.5},
    ],
}
RATES = {
    "ExponentialLR": {"gamma": 0.5},
    "StepLR": {"step_size": 2, "gamma": 0.1},
    "MultiStepLR": {"milestones": [1, 4], "gamma": 0.1},
    "CosineAnnealingLR": {"T_max": 5, "eta_min": 0.01},
    "LinearLR": {"start_factor": 1.0, "end_factor": 0.25, "total_iters": 4},
}


def by_torch():
    import torch

    def steps(name, options):
        x = torch.tensor(START, dtype=torch.float64, requires_grad=True)
        method = getattr(torch.optim, name)([x], **options)
        found = []
        for _ in range(STEPS):
            x.grad = torch.tensor(CURVATURES, dtype=torch.float64) * (x.detach() - torch.tensor(TARGETS))
            method.step()
            found.append(x.tolist())
        return found

    def rates(name, options):
        method = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.2)
        schedule = getattr(torch.optim.lr_scheduler, name)(method, **options)
        found = []
        for _ in range(STEPS):
            found += schedule.get_last_lr()
            method.step()
            schedule.step()
        return found

    return {
        "torch": torch.__version__,
        "steps": {name: [steps(name, options) for options in all_of] for name, all_of in METHODS.items()},
        "rates": {name: rates(name, options) for name, options in RATES.items()},
    }


if __name__ == "__main__":
    FILE.write_text(json.dumps(by_torch()) + "\n", encoding="utf-8")
