"""Neural style transfer: scikit-learn's photograph of a temple, in the colours of its flower.

Both photographs go through the first layers of a VGG network. What stands where is what the
activations of one layer say, and how it looks is which channels of several layers are active
together, their Gram matrices. Modules among the layers keep the distance of the new picture to
both, and L-BFGS changes its pixels until both are small. (Gatys, Ecker and Bethge, 2015.)

Without `--weights` the network is as random as the seed. Such a network sees textures, too; for
the real thing give it the weights of torchvision's VGG-19.

    python style_transfer.py
    python style_transfer.py --weights vgg19-dcbb9e9d.pth --size 256 --steps 30
"""

import argparse
import os
import tempfile

import torch
import torch.nn.functional as F
from sklearn.datasets import load_sample_images
from torch import nn, optim

# The layers of VGG-19 by their numbers in torchvision: conv1_1, conv1_2, conv2_1, conv2_2, conv3_1
CHANNELS = {"0": (3, 64), "2": (64, 64), "5": (64, 128), "7": (128, 128), "10": (128, 256)}
POOLING = ("4", "9")
CONTENT_LAYER = "7"


class Normalization(nn.Module):
    """The colours as VGG was trained on."""

    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.tensor([0.485, 0.456, 0.406]).reshape(3, 1, 1))
        self.register_buffer("std", torch.tensor([0.229, 0.224, 0.225]).reshape(3, 1, 1))

    def forward(self, picture):
        return (picture - self.mean) / self.std


class ContentLoss(nn.Module):
    """Passes activations on, and keeps how far they are from those of the content."""

    def __init__(self, activations):
        super().__init__()
        self.register_buffer("target", activations)

    def forward(self, activations):
        self.loss = relative_error(activations, self.target)
        return activations


class StyleLoss(nn.Module):
    """Passes activations on, and keeps how far their Gram matrix is from that of the style."""

    def __init__(self, activations):
        super().__init__()
        self.register_buffer("target", gram(activations))

    def forward(self, activations):
        self.loss = relative_error(gram(activations), self.target)
        return activations


def relative_error(found, target):
    return F.mse_loss(found, target) / target.square().mean()


def gram(activations):
    """How much each two channels are active together, wherever that is."""
    channels = activations.flatten(start_dim=2)
    return channels @ channels.transpose(1, 2) / channels.shape[2]


def vgg(weights=None):
    """The first layers of VGG-19, frozen: with these weights or with random ones."""
    network = nn.Sequential()
    for number in range(11):
        name = str(number)
        if name in CHANNELS:
            layer = nn.Conv2d(*CHANNELS[name], kernel_size=3, padding=1)
            nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
            nn.init.zeros_(layer.bias)
        else:
            layer = nn.MaxPool2d(2) if name in POOLING else nn.ReLU()
        network.add_module(name, layer)
    if weights is not None:
        network.load_state_dict(
            {name: weights[f"features.{name}"] for name in network.state_dict()}
        )
    return network.requires_grad_(False)


@torch.no_grad()
def with_losses(network, content, style):
    """The network with a module for the loss after each convolution, and these modules."""
    model = nn.Sequential(Normalization())
    content_losses, style_losses = [], []
    for name, layer in network.named_children():
        model.append(layer)
        if name == CONTENT_LAYER:
            content_losses.append(ContentLoss(model(content)))
            model.append(content_losses[-1])
        if name in CHANNELS:
            style_losses.append(StyleLoss(model(style)))
            model.append(style_losses[-1])
    return model, content_losses, style_losses


def make_step(logits, network, content, style, style_weight=10.0, iterations=5):
    """A function that changes the picture, the sigmoid of `logits`, by some iterations of L-BFGS.

    It returns what the distances to content and style were before.
    """
    model, content_losses, style_losses = with_losses(network, content, style)
    optimizer = optim.LBFGS([logits], max_iter=iterations, line_search_fn="strong_wolfe")

    def step():
        seen = []

        def closure():
            optimizer.zero_grad()
            model(logits.sigmoid())
            content_loss = sum(module.loss for module in content_losses) / len(content_losses)
            style_loss = sum(module.loss for module in style_losses) / len(style_losses)
            loss = content_loss + style_weight * style_loss
            loss.backward()
            seen.append((content_loss, style_loss))
            return loss

        optimizer.step(closure)
        return seen[0]

    return step


def photographs(height):
    """The two photographs, (1, 3, height, width) in 0..1: a temple and a flower."""
    for image in load_sample_images().images:
        picture = torch.tensor(image).permute(2, 0, 1)[None] / 255
        width = round(height * picture.shape[3] / picture.shape[2])
        yield F.interpolate(picture, size=(height, width), mode="bilinear", antialias=True)


def save(picture, path):
    """Write a picture as a file of the type that its name says."""
    from PIL import Image  # also what scikit-learn reads the photographs with

    pixels = (picture.detach()[0].clamp(0, 1) * 255).round().to(torch.uint8)
    Image.fromarray(pixels.permute(1, 2, 0).numpy()).save(path)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--iterations", type=int, default=5, help="of L-BFGS in a step")
    parser.add_argument("--size", type=int, default=64, help="height of the picture in pixels")
    parser.add_argument("--style-weight", type=float, default=10.0)
    parser.add_argument("--weights", help="file with the weights of torchvision's VGG-19")
    parser.add_argument("--out", default=os.path.join(tempfile.gettempdir(), "style_transfer.png"))
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()

    torch.manual_seed(arguments.seed)
    weights = torch.load(arguments.weights, weights_only=True) if arguments.weights else None
    content, style = photographs(arguments.size)
    logits = content.clamp(0.01, 0.99).logit().requires_grad_(True)
    step = make_step(
        logits, vgg(weights), content, style, arguments.style_weight, arguments.iterations
    )
    for number in range(1, arguments.steps + 1):
        content_loss, style_loss = step()
        print(f"step {number:2}: content {content_loss.item():.4f}, style {style_loss.item():.4f}")
    save(logits.sigmoid(), arguments.out)
    print(f"written to {arguments.out}")


if __name__ == "__main__":
    main()
