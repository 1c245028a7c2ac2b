"""LoRA on GPT-2: only adapters train; they are saved, loaded and merged."""

import tempfile

import torch
from peft import LoraConfig, PeftModel, get_peft_model
from transformers import GPT2Config, GPT2LMHeadModel

torch.manual_seed(0)
config = GPT2Config(vocab_size=64, n_positions=32, n_embd=32, n_layer=2, n_head=4)
base = GPT2LMHeadModel(config)
state = {name: value.clone() for name, value in base.state_dict().items()}
model = get_peft_model(
    base,
    LoraConfig(r=4, lora_alpha=8, target_modules=["c_attn"], fan_in_fan_out=True, lora_dropout=0.0),
)
trainable = [name for name, p in model.named_parameters() if p.requires_grad]
assert trainable
assert all("lora_" in name for name in trainable)
tokens = torch.randint(0, 64, (4, 12))
optimizer = torch.optim.AdamW((p for p in model.parameters() if p.requires_grad), lr=1e-2)
losses = []
for _ in range(15):
    loss = model(input_ids=tokens, labels=tokens).loss
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
assert losses[-1] < losses[0], losses

model.eval()
with torch.no_grad():
    expected = model(tokens).logits
with tempfile.TemporaryDirectory() as folder:
    model.save_pretrained(folder)
    fresh = GPT2LMHeadModel(config)
    fresh.load_state_dict(state)
    again = PeftModel.from_pretrained(fresh, folder).eval()
with torch.no_grad():
    torch.testing.assert_close(again(tokens).logits, expected, rtol=1e-4, atol=1e-5)
    merged = again.merge_and_unload()
    torch.testing.assert_close(merged(tokens).logits, expected, rtol=1e-4, atol=1e-4)
