"""GPT-2 from a small random configuration: training, generation, a round trip through a file."""

import tempfile

import torch
from transformers import GPT2Config, GPT2LMHeadModel

torch.manual_seed(0)
config = GPT2Config(
    vocab_size=64, n_positions=32, n_embd=32, n_layer=2, n_head=4, bos_token_id=0, eos_token_id=63
)
model = GPT2LMHeadModel(config)
tokens = torch.randint(1, 60, (4, 16))
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
losses = []
for _ in range(15):
    loss = model(input_ids=tokens, labels=tokens).loss
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    losses.append(loss.item())
assert losses[-1] < losses[0] - 0.3, losses

model.eval()
start = tokens[:2, :4]
greedy = model.generate(start, max_new_tokens=6, do_sample=False, pad_token_id=0)
assert greedy.shape == (2, 10)
assert torch.equal(greedy[:, :4], start)
sampled = model.generate(
    start, max_new_tokens=6, min_new_tokens=6, do_sample=True, top_k=5, top_p=0.9, pad_token_id=0
)
assert sampled.shape == (2, 10)
beams = model.generate(start, max_new_tokens=4, num_beams=3, do_sample=False, pad_token_id=0)
assert beams.shape[0] == 2
with torch.no_grad():
    cached = model(tokens[:, :8], use_cache=True)
    following = model(tokens[:, 8:9], past_key_values=cached.past_key_values)
    whole = model(tokens[:, :9])
torch.testing.assert_close(following.logits[:, -1], whole.logits[:, -1], rtol=1e-4, atol=1e-5)

with tempfile.TemporaryDirectory() as folder:
    model.save_pretrained(folder)
    again = GPT2LMHeadModel.from_pretrained(folder).eval()
with torch.no_grad():
    torch.testing.assert_close(again(tokens).logits, model(tokens).logits)
