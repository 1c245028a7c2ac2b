"""Which modules stand for those of ``torch.testing._internal``, below `_private.harness`."""

from __future__ import annotations

HARNESS: dict[str, str] = {
    f"torch.testing._internal{'.' * bool(path)}{path}": f"harness{'.' * bool(module)}{module}"
    for path, module in {
        "": "",
        "autograd_function_db": "empty_lists",
        "common_cuda": "gpus",
        "common_device_type": "devices",
        "common_dtype": "dtype_lists",
        "common_methods_invocations": "samples",
        "common_mkldnn": "vendor_switches",
        "common_modules": "layers.lists",
        "common_nn": "layers.cases",
        "common_optimizers": "optimizers",
        "common_quantization": "vendor_switches",
        "common_quantized": "vendor_switches",
        "common_utils": "common",
        "common_xpu": "accelerators",
        "custom_op_db": "empty_lists",
        "hop_db": "empty_lists",
        "hypothesis_utils": "deadlines",
        "inductor_utils": "compiled_devices",
        "logging_tensor": "logged_calls",
        "logging_utils": "log_records",
        "triton_utils": "gpu_requirements",
        "opinfo": "operations",
        "opinfo.core": "operations.core",
        "opinfo.refs": "operations.second_forms",
        "two_tensor": "paired_tensors",
    }.items()
} | {
    "torch.nn.parallel._functions": "broadcasts",
    "torch.utils._dtype_abbrs": "harness.dtype_abbreviations",
    "torch.utils._ordered_set": "ordered_sets",
}
