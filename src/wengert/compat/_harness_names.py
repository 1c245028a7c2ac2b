"""Which modules stand for those of ``torch.testing._internal``, below `_private.harness`."""

from __future__ import annotations

HARNESS: dict[str, str] = {
    f"torch.testing._internal{'.' * bool(path)}{path}": f"harness{'.' * bool(module)}{module}"
    for path, module in {
        "": "",
        "common_cuda": "gpus",
        "common_device_type": "devices",
        "common_dtype": "dtype_lists",
        "common_methods_invocations": "samples",
        "common_modules": "layers.lists",
        "common_nn": "layers.cases",
        "common_optimizers": "optimizers",
        "common_utils": "common",
        "common_xpu": "accelerators",
        "inductor_utils": "compiled_devices",
        "logging_tensor": "logged_calls",
        "logging_utils": "log_records",
        "triton_utils": "needs_of_tests",
        "opinfo": "operations",
        "opinfo.core": "operations.core",
        "two_tensor": "paired_tensors",
    }.items()
}
