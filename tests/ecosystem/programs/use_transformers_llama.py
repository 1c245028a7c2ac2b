"""Llama with grouped key heads: training, generation, a round trip through a file."""

import tempfile

import torch
from transformers import AutoModelForCausalLM, LlamaConfig, LlamaForCausalLM

torch.manual_seed(0)
config = LlamaConfig(
    vocab_size=64,
    hidden_size=32,
    intermediate_size=64,
    num_hidden_layers=2,
    num_attention_heads=4,
    num_key_value_heads=2,
    max_position_embeddings=64,
)
model = LlamaForCausalLM(config)
tokens = torch.randint(3, 60, (4, 12))
mask = torch.ones_like(tokens)
mask[0, :3] = 0
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
losses = []
for _ in range(15):
    loss = model(input_ids=tokens, attention_mask=mask, labels=tokens).loss
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
assert losses[-1] < losses[0] - 0.3, losses

model.eval()
out = model.generate(
    tokens, attention_mask=mask, max_new_tokens=5, min_new_tokens=5, do_sample=False, pad_token_id=0
)
assert out.shape == (4, 17)

with tempfile.TemporaryDirectory() as folder:
    model.save_pretrained(folder)
    again = AutoModelForCausalLM.from_pretrained(folder).eval()
with torch.no_grad():
    torch.testing.assert_close(again(tokens).logits, model(tokens).logits)
