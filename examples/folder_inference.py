"""Classifying a folder of pictures in batches: a loader reads ahead while a network computes.

Without --folder, crops of scikit-learn's two photographs, a temple and a flower, are written to a
temporary folder as JPEG files of many sizes. A small residual network, trained on other parts of
the photographs, says which is which. The loader's workers read and scale the files; a progress bar
shows the throughput; a table of the answers goes to --out.

    python folder_inference.py
    python folder_inference.py --folder ~/Pictures --workers 4 --batch 64 --out answers.csv
"""

import argparse
import csv
import random
import tempfile
import time
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from sklearn.datasets import load_sample_images
from torch import nn, optim
from torch.nn import functional as F
from torch.utils.data import DataLoader, Dataset
from tqdm import tqdm

CLASSES = ("temple", "flower")
SUFFIXES = {".jpg", ".jpeg", ".png"}
SIZE = 64


class Residual(nn.Module):
    def __init__(self, channels_in, channels_out, stride):
        super().__init__()
        self.first = nn.Conv2d(channels_in, channels_out, 3, stride, padding=1, bias=False)
        self.first_norm = nn.BatchNorm2d(channels_out)
        self.second = nn.Conv2d(channels_out, channels_out, 3, padding=1, bias=False)
        self.second_norm = nn.BatchNorm2d(channels_out)
        self.shortcut = nn.Conv2d(channels_in, channels_out, 1, stride, bias=False)

    def forward(self, x):
        inner = F.relu(self.first_norm(self.first(x)))
        return F.relu(self.second_norm(self.second(inner)) + self.shortcut(x))


class Classifier(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.stem = nn.Conv2d(3, width, kernel_size=5, stride=2, padding=2)
        self.blocks = nn.Sequential(
            Residual(width, width, stride=2),
            Residual(width, 2 * width, stride=2),
            Residual(2 * width, 4 * width, stride=2),
        )
        self.scores = nn.Linear(4 * width, len(CLASSES))

    def forward(self, images):
        return self.scores(self.blocks(F.relu(self.stem(images))).mean(dim=(2, 3)))


def as_tensor(image):
    """A picture of any size as channels, height and width, from -1 to 1."""
    pixels = np.asarray(image.convert("RGB").resize((SIZE, SIZE)), np.float32)
    return torch.from_numpy(pixels).permute(2, 0, 1) / 127.5 - 1


def crop(photograph, rows, generator):
    """A square of random size and place within some rows of a photograph."""
    first, last = rows
    side = generator.randint(40, last - first)
    top = generator.randint(first, last - side)
    left = generator.randint(0, photograph.width - side)
    return photograph.crop((left, top, left + side, top + side))


class Crops(Dataset):
    """Pictures to train on, from the upper part of the photographs."""

    def __init__(self, photographs, count, seed):
        generator = random.Random(seed)
        self.items = [
            (as_tensor(crop(photographs[k % 2], (0, 260), generator)), k % 2) for k in range(count)
        ]

    def __len__(self):
        return len(self.items)

    def __getitem__(self, k):
        return self.items[k]


class Folder(Dataset):
    """The pictures of a folder; whatever else lies there is left out."""

    def __init__(self, folder):
        self.paths = sorted(p for p in Path(folder).rglob("*") if p.suffix.lower() in SUFFIXES)

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, k):
        with Image.open(self.paths[k]) as image:
            return as_tensor(image), str(self.paths[k])


def write_pictures(photographs, folder, count, seed):
    """Files from the lower part of the photographs, named by what they show."""
    generator = random.Random(seed)
    for k in range(count):
        path = Path(folder) / f"{CLASSES[k % 2]}-{k:04}.jpg"
        crop(photographs[k % 2], (260, 427), generator).save(path, quality=90)


def train(model, dataset, epochs):
    optimizer = optim.AdamW(model.parameters(), lr=2e-3)
    model.train()
    for epoch in range(1, epochs + 1):
        total = 0.0
        loader = DataLoader(dataset, batch_size=32, shuffle=True)
        for images, labels in loader:
            optimizer.zero_grad()
            loss = F.cross_entropy(model(images), labels)
            loss.backward()
            optimizer.step()
            total += loss.item()
        print(f"epoch {epoch}: loss {total / len(loader):.4f}")


@torch.inference_mode()
def classify(model, dataset, batch, workers):
    """Each picture's path, its class and how sure the network is; and the seconds it took."""
    loader = DataLoader(dataset, batch_size=batch, num_workers=workers)
    model.eval()
    answers = []
    start = time.perf_counter()
    with tqdm(total=len(dataset), unit="image") as bar:
        for images, paths in loader:
            sure, best = model(images).softmax(dim=1).max(dim=1)
            names = [CLASSES[k] for k in best.tolist()]
            answers += zip(paths, names, sure.tolist(), strict=True)
            bar.update(len(images))
    return answers, time.perf_counter() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--folder", help="pictures to classify; by default they are made up")
    parser.add_argument("--count", type=int, default=400, help="pictures to make up")
    parser.add_argument("--crops", type=int, default=320, help="pictures to train on")
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--out", help="a file for the answers, in CSV")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()

    torch.manual_seed(arguments.seed)
    photographs = [Image.fromarray(image) for image in load_sample_images().images]
    model = Classifier()
    train(model, Crops(photographs, arguments.crops, arguments.seed), arguments.epochs)
    with tempfile.TemporaryDirectory() as made:
        if arguments.folder is None:
            write_pictures(photographs, made, arguments.count, arguments.seed)
        dataset = Folder(arguments.folder or made)
        answers, seconds = classify(model, dataset, arguments.batch, arguments.workers)
    print(f"{len(answers)} pictures, {len(answers) / seconds:,.0f} a second")
    if arguments.folder is None:
        right = sum(Path(path).name.startswith(name) for path, name, _ in answers)
        print(f"accuracy: {right / len(answers):.1%}")
    if arguments.out:
        with open(arguments.out, "w", newline="") as file:
            table = csv.writer(file)
            table.writerow(("file", "class", "sure"))
            table.writerows((path, name, f"{sure:.4f}") for path, name, sure in answers)


if __name__ == "__main__":
    main()
