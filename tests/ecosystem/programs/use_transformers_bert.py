"""BERT: classification of sequences, masked words, frozen layers, gradient checkpointing."""

import tempfile

import torch
from transformers import BertConfig, BertForMaskedLM, BertForSequenceClassification

torch.manual_seed(0)
config = BertConfig(
    vocab_size=64,
    hidden_size=32,
    num_hidden_layers=2,
    num_attention_heads=4,
    intermediate_size=64,
    max_position_embeddings=32,
    num_labels=3,
)
tokens = torch.randint(1, 60, (6, 12))
mask = torch.ones_like(tokens)
mask[:, 9:] = 0
labels = torch.randint(0, 3, (6,))

model = BertForSequenceClassification(config)
model.bert.embeddings.requires_grad_(False)
optimizer = torch.optim.AdamW((p for p in model.parameters() if p.requires_grad), lr=2e-3)
losses = []
for _ in range(20):
    loss = model(tokens, attention_mask=mask, labels=labels).loss
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
assert losses[-1] < losses[0], losses
assert model.bert.embeddings.word_embeddings.weight.grad is None

words = BertForMaskedLM(config)
words.gradient_checkpointing_enable()
words.train()
loss = words(tokens, attention_mask=mask, labels=tokens).loss
loss.backward()
assert all(p.grad is not None for p in words.bert.encoder.parameters())

model.eval()
with tempfile.TemporaryDirectory() as folder:
    model.save_pretrained(folder)
    again = BertForSequenceClassification.from_pretrained(folder).eval()
with torch.no_grad():
    torch.testing.assert_close(again(tokens).logits, model(tokens).logits)
