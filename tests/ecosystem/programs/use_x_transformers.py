"""A decoder with rotary embeddings learns a sequence and continues it."""

import torch
from x_transformers import AutoregressiveWrapper, Decoder, TransformerWrapper

torch.manual_seed(0)
model = AutoregressiveWrapper(
    TransformerWrapper(
        num_tokens=32,
        max_seq_len=32,
        attn_layers=Decoder(
            dim=32, depth=2, heads=2, rotary_pos_emb=True, ff_glu=True, use_rmsnorm=True
        ),
    )
)
tokens = torch.randint(0, 32, (4, 17))
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
losses = []
for _ in range(12):
    loss = model(tokens)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
assert losses[-1] < losses[0], losses
model.eval()
assert model.generate(tokens[:2, :4], 6).shape == (2, 6)
