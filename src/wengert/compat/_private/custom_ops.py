"""``torch._custom_ops``: where `torch.library` was before, as far as packages still name it."""

from wengert.library import get_ctx, impl_abstract, infer_schema

__all__ = ["get_ctx", "impl_abstract", "infer_schema"]
