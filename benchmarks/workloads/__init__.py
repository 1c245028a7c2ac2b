"""What is measured: each step once in PyTorch's API, for torch and wengert, and once in jax."""

from __future__ import annotations

from workloads import generating, gpt, gradients, images, kernels, mlp, ops, optimizers, recurrent
from workloads._workload import Workload

# Families of rows; each is served by processes of its own.
TRAINING = {
    "mlp": mlp.FAMILY,
    "images": images.FAMILY,
    "recurrent": recurrent.FAMILY,
    "generating": generating.FAMILY,
    "gpt": gpt.FAMILY,
}
FAMILIES: dict[str, list[Workload]] = {
    **TRAINING,
    "gradients": gradients.FAMILY,
    "optimizers": optimizers.FAMILY,
    "kernels": kernels.FAMILY,
    "ops": ops.FAMILY,
}
DEEP_MLP = mlp.DEEP_MLP
BY_NAME = {w.name: w for family in FAMILIES.values() for w in family} | {DEEP_MLP.name: DEEP_MLP}
