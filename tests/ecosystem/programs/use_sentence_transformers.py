"""Embeddings of sentences from a small BERT: encoding, similarity, a loss and its gradient."""

import tempfile
from pathlib import Path

import torch
from sentence_transformers import SentenceTransformer, losses, util
from sentence_transformers.models import Pooling, Transformer
from transformers import BertConfig, BertModel, BertTokenizerFast

torch.manual_seed(0)
words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "the", "cat", "dog", "sat", "ran"]
sentences = ["the cat sat", "a cat sat", "the dog ran", "a dog ran"]
with tempfile.TemporaryDirectory() as folder:
    vocabulary = Path(folder, "vocab.txt")
    vocabulary.write_text("\n".join(words))
    BertTokenizerFast(vocab=str(vocabulary)).save_pretrained(folder)
    config = BertConfig(
        vocab_size=len(words),
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=32,
    )
    BertModel(config).save_pretrained(folder)
    transformer = Transformer(folder, max_seq_length=16)
    model = SentenceTransformer(modules=[transformer, Pooling(16)], device="cpu")
    embeddings = model.encode(sentences, convert_to_tensor=True)
    assert embeddings.shape == (4, 16)
    assert util.cos_sim(embeddings, embeddings).shape == (4, 4)

    loss = losses.MultipleNegativesRankingLoss(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    history = []
    for _ in range(10):
        anchors = model.tokenize(["the cat sat", "the dog ran"])
        positives = model.tokenize(["a cat sat", "a dog ran"])
        value = loss([anchors, positives], None)
        optimizer.zero_grad()
        value.backward()
        optimizer.step()
        history.append(value.item())
    assert history[-1] < history[0], history

    model.save(str(Path(folder, "saved")))
    again = SentenceTransformer(str(Path(folder, "saved")), device="cpu")
    torch.testing.assert_close(
        again.encode(sentences, convert_to_tensor=True),
        model.encode(sentences, convert_to_tensor=True),
    )
