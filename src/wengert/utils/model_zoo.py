"""``torch.utils.model_zoo``: the old place of ``torch.hub``'s files of weights."""

from wengert.hub import load_state_dict_from_url as load_url

__all__ = ["load_url"]
