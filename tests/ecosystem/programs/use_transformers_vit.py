"""ViT: classification of images."""

import tempfile

import torch
from transformers import ViTConfig, ViTForImageClassification

torch.manual_seed(0)
config = ViTConfig(
    hidden_size=32,
    num_hidden_layers=2,
    num_attention_heads=4,
    intermediate_size=64,
    image_size=32,
    patch_size=8,
    num_labels=4,
)
model = ViTForImageClassification(config)
images, labels = torch.randn(8, 3, 32, 32), torch.randint(0, 4, (8,))
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
losses = []
for _ in range(20):
    loss = model(pixel_values=images, labels=labels).loss
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
assert losses[-1] < losses[0], losses
model.eval()
with tempfile.TemporaryDirectory() as folder:
    model.save_pretrained(folder)
    again = ViTForImageClassification.from_pretrained(folder).eval()
with torch.no_grad():
    torch.testing.assert_close(again(images).logits, model(images).logits)
