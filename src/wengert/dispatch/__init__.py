"""Operations by PyTorch's names, ``torch.ops``, and the modes that see them computed."""
