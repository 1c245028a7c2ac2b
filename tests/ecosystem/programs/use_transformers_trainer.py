"""Trainer: training with evaluation, a checkpoint, and training that goes on from it."""

import tempfile

import torch
from torch.utils.data import Dataset
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments


class Words(Dataset):
    def __init__(self, size):
        generator = torch.Generator().manual_seed(0)
        self.tokens = torch.randint(1, 30, (size, 8), generator=generator)
        self.labels = (self.tokens[:, 0] > 15).long()

    def __len__(self):
        return len(self.tokens)

    def __getitem__(self, index):
        return {"input_ids": self.tokens[index], "labels": self.labels[index]}


torch.manual_seed(0)
config = BertConfig(
    vocab_size=32,
    hidden_size=16,
    num_hidden_layers=1,
    num_attention_heads=2,
    intermediate_size=32,
    max_position_embeddings=16,
)


def trainer(folder, steps):
    arguments = TrainingArguments(
        output_dir=folder,
        max_steps=steps,
        per_device_train_batch_size=8,
        learning_rate=1e-2,
        logging_steps=5,
        save_steps=10,
        eval_strategy="steps",
        eval_steps=10,
        report_to=[],
        use_cpu=True,
        gradient_accumulation_steps=2,
        disable_tqdm=True,
    )
    return Trainer(
        model=BertForSequenceClassification(config),
        args=arguments,
        train_dataset=Words(64),
        eval_dataset=Words(16),
    )


with tempfile.TemporaryDirectory() as folder:
    first = trainer(folder, 20)
    before = first.evaluate()["eval_loss"]
    first.train()
    assert first.evaluate()["eval_loss"] < before
    assert first.predict(Words(5)).predictions.shape == (5, 2)
    second = trainer(folder, 30)
    second.train(resume_from_checkpoint=True)
    assert second.state.global_step == 30
