"""T5, an encoder and a decoder: training and generation."""

import tempfile

import torch
from transformers import T5Config, T5ForConditionalGeneration

torch.manual_seed(0)
config = T5Config(
    vocab_size=64,
    d_model=32,
    d_kv=8,
    d_ff=64,
    num_layers=2,
    num_heads=4,
    decoder_start_token_id=0,
    pad_token_id=0,
)
model = T5ForConditionalGeneration(config)
tokens, labels = torch.randint(2, 60, (4, 10)), torch.randint(2, 60, (4, 6))
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
losses = []
for _ in range(15):
    loss = model(input_ids=tokens, labels=labels).loss
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
assert losses[-1] < losses[0], losses

model.eval()
out = model.generate(tokens, max_new_tokens=5, num_beams=2, do_sample=False)
assert out.shape[0] == 4
with tempfile.TemporaryDirectory() as folder:
    model.save_pretrained(folder)
    again = T5ForConditionalGeneration.from_pretrained(folder).eval()
with torch.no_grad():
    torch.testing.assert_close(
        again(input_ids=tokens, labels=labels).loss, model(input_ids=tokens, labels=labels).loss
    )
