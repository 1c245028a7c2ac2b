"""Networks that make pictures: DCGAN, style transfer."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from workloads._workload import (
    Array,
    Compile,
    Shapes,
    Step,
    Workload,
    conv,
    data,
    fill,
    norm,
    training,
    weight,
    weights,
)

BATCH, NOISE, WIDTH = 64, 100, 64
RATE = {"lr": 2e-4, "betas": (0.5, 0.999)}
# Of the layers: channels in and out, stride, padding. All kernels are 4x4.
GENERATOR = ((NOISE, 4 * WIDTH, 1, 0), (4 * WIDTH, 2 * WIDTH, 2, 1), (2 * WIDTH, WIDTH, 2, 1),
             (WIDTH, 3, 2, 1))  # fmt: skip
DISCRIMINATOR = ((3, WIDTH, 2, 1), (WIDTH, 2 * WIDTH, 2, 1), (2 * WIDTH, 4 * WIDTH, 2, 1),
                 (4 * WIDTH, 1, 1, 0))  # fmt: skip


def dcgan(library: Any, compiled: Compile) -> Step:
    """A step of the discriminator and one of the generator, each without the other's gradients."""
    nn, optim = library.nn, library.optim
    models = nn.Module()
    models.generator, models.discriminator = nn.Sequential(), nn.Sequential()
    for i, (inputs, outputs, stride, padding) in enumerate(GENERATOR):
        models.generator.add_module(
            f"conv{i}", nn.ConvTranspose2d(inputs, outputs, 4, stride, padding, bias=False)
        )
        if i < 3:
            models.generator.add_module(f"norm{i}", nn.BatchNorm2d(outputs))
        models.generator.add_module(f"act{i}", nn.ReLU() if i < 3 else nn.Tanh())
    for i, (inputs, outputs, stride, padding) in enumerate(DISCRIMINATOR):
        models.discriminator.add_module(
            f"conv{i}", nn.Conv2d(inputs, outputs, 4, stride, padding, bias=False)
        )
        if i in (1, 2):
            models.discriminator.add_module(f"norm{i}", nn.BatchNorm2d(outputs))
        if i < 3:
            models.discriminator.add_module(f"act{i}", nn.LeakyReLU(0.2))
    fill(library, models)
    generator, discriminator = models.generator, models.discriminator
    generator_optimizer = optim.Adam(generator.parameters(), **RATE)
    discriminator_optimizer = optim.Adam(discriminator.parameters(), **RATE)
    real, noise = map(library.from_numpy, dcgan_data())
    ones, zeros = library.ones(BATCH, 1, 1, 1), library.zeros(BATCH, 1, 1, 1)
    criterion = nn.BCEWithLogitsLoss()

    @compiled
    def discriminator_loss_of(real: Any, fake: Any) -> Any:
        return criterion(discriminator(real), ones) + criterion(discriminator(fake), zeros)

    @compiled
    def generator_loss_of(fake: Any) -> Any:
        return criterion(discriminator(fake), ones)

    generated = compiled(generator)
    update_generator = compiled(generator_optimizer.step)
    update_discriminator = compiled(discriminator_optimizer.step)

    def step() -> Any:
        fake = generated(noise)
        discriminator_loss = discriminator_loss_of(real, fake.detach())
        discriminator_optimizer.zero_grad()
        discriminator_loss.backward()
        update_discriminator()

        discriminator.requires_grad_(False)
        generator_loss = generator_loss_of(fake)
        generator_optimizer.zero_grad()
        generator_loss.backward()
        update_generator()
        discriminator.requires_grad_(True)
        return discriminator_loss.detach() + generator_loss.detach()

    return step


def dcgan_data() -> tuple[Array, Array]:
    """Pictures and noise."""
    return np.tanh(data("real", BATCH, 3, 32, 32)), data("noise", BATCH, NOISE, 1, 1)


def dcgan_shapes() -> tuple[Shapes, Shapes]:
    """The parameters of generator and discriminator."""
    generator: Shapes = {}
    discriminator: Shapes = {}
    for i, (inputs, outputs, _, _) in enumerate(GENERATOR):
        generator |= {f"generator.conv{i}.weight": (inputs, outputs, 4, 4)}
        generator |= norm(f"generator.norm{i}", outputs) if i < 3 else {}
    for i, (inputs, outputs, _, _) in enumerate(DISCRIMINATOR):
        discriminator |= conv(f"discriminator.conv{i}", inputs, outputs, 4, bias=False)
        discriminator |= norm(f"discriminator.norm{i}", outputs) if i in (1, 2) else {}
    return generator, discriminator


def dcgan_jax() -> Step:
    """The same in jax; the generator runs once, and its backward in the second half."""
    from functools import partial

    import jax
    import jax.numpy as jnp

    from workloads import _jax

    start, update = _jax.adam(**RATE)  # type: ignore[arg-type]

    def generator(params: Any, x: Any) -> Any:
        for i, (_, _, stride, padding) in enumerate(GENERATOR):
            x = _jax.conv_transposed(params, f"generator.conv{i}", x, stride, padding)
            if i < 3:
                x = jax.nn.relu(_jax.batch_norm(params, f"generator.norm{i}", x))
        return jnp.tanh(x)

    def discriminator(params: Any, x: Any) -> Any:
        for i, (_, _, stride, padding) in enumerate(DISCRIMINATOR):
            x = _jax.conv(params, f"discriminator.conv{i}", x, stride, padding)
            x = _jax.batch_norm(params, f"discriminator.norm{i}", x) if i in (1, 2) else x
            x = jax.nn.leaky_relu(x, 0.2) if i < 3 else x
        return x

    def discriminator_loss_of(params: Any, real: Any, fake: Any) -> Any:
        loss = _jax.binary_cross_entropy(discriminator(params, real), 1.0)
        return loss + _jax.binary_cross_entropy(discriminator(params, fake), 0.0)

    def generator_loss_of(fake: Any, params: Any) -> Any:
        return _jax.binary_cross_entropy(discriminator(params, fake), 1.0)

    @partial(jax.jit, donate_argnums=(0, 1))
    def stepped(params: Any, state: Any, real: Any, noise: Any) -> Any:
        (ours, theirs), (our_state, their_state) = params, state
        fake, back = jax.vjp(lambda p: generator(p, noise), ours)
        their_loss, grads = jax.value_and_grad(discriminator_loss_of)(theirs, real, fake)
        theirs, their_state = update(theirs, grads, their_state)
        our_loss, cotangent = jax.value_and_grad(generator_loss_of)(fake, theirs)
        ours, our_state = update(ours, *back(cotangent), our_state)
        return (ours, theirs), (our_state, their_state), our_loss + their_loss

    params: Any = tuple(_jax.arrays(weights(shapes)) for shapes in dcgan_shapes())
    state: Any = tuple(map(start, params))
    batch = _jax.arrays(dcgan_data())

    def step() -> Any:
        nonlocal params, state
        params, state, loss = stepped(params, state, *batch)
        return loss

    return step


# VGG-16 up to conv4_1: channels of each convolution, with a pooling before some.
SIZE = 128
VGG = ((3, 64, False), (64, 64, False), (64, 128, True), (128, 128, False), (128, 256, True),
       (256, 256, False), (256, 256, False), (256, 512, True))  # fmt: skip
STYLE_LAYERS, CONTENT_LAYER = (0, 2, 4, 7), 5


def vgg_weights() -> dict[str, Array]:
    """He's initialisation, frozen."""
    shapes: Shapes = {}
    for i, (inputs, outputs, _) in enumerate(VGG):
        shapes |= conv(f"conv{i}", inputs, outputs, 3)
    return {
        name: weight(name, shape) * np.float32(math.sqrt(2) if len(shape) > 1 else 1)
        for name, shape in shapes.items()
    }


def style_data() -> tuple[Array, Array, Array]:
    """The picture to start from, and those of the content and of the style."""
    start, content, style = (data(n, 1, 3, SIZE, SIZE) for n in ("start", "content", "style"))
    # Neither is like the other: coarse patterns of different sizes over the noise.
    ramp = np.arange(SIZE, dtype=np.float32)
    return start, content + np.sin(ramp / 3), style + np.sin(ramp / 9)[:, None]


def style_transfer(library: Any, compiled: Compile) -> Step:
    """Adam changes a picture until its features are near those of two others."""
    functional = library.nn.functional
    network = {name: library.from_numpy(array) for name, array in vgg_weights().items()}
    start, content, style = map(library.from_numpy, style_data())

    def features(x: Any) -> list[Any]:
        found = []
        for i, (_, _, pooled) in enumerate(VGG):
            x = functional.max_pool2d(x, 2) if pooled else x
            x = functional.conv2d(
                x, network[f"conv{i}.weight"], network[f"conv{i}.bias"], padding=1
            )
            x = functional.relu(x)
            found.append(x)
        return found

    def gram(x: Any) -> Any:
        channels = x.flatten(start_dim=2)
        return channels @ channels.transpose(1, 2) / channels.shape[2]

    def error(found: Any, target: Any) -> Any:
        return functional.mse_loss(found, target) / target.square().mean()

    with library.no_grad():
        kept = features(content)[CONTENT_LAYER]
        found = features(style)
        grams = [gram(found[i]) for i in STYLE_LAYERS]

    @compiled
    def loss_of(picture: Any) -> Any:
        found = features(picture)
        losses = [error(gram(found[i]), g) for i, g in zip(STYLE_LAYERS, grams, strict=True)]
        return error(found[CONTENT_LAYER], kept) + 10 * sum(losses)

    picture = start.clone().requires_grad_(True)
    return training(compiled, library.optim.Adam([picture], lr=0.02), loss_of, picture)


def style_transfer_jax() -> Step:
    """The same in jax."""
    import jax

    from workloads import _jax

    def features(network: Any, x: Any) -> list[Any]:
        found = []
        for i, (_, _, pooled) in enumerate(VGG):
            x = _jax.max_pool(x) if pooled else x
            x = jax.nn.relu(_jax.conv(network, f"conv{i}", x, padding=1))
            found.append(x)
        return found

    def gram(x: Any) -> Any:
        channels = x.reshape(*x.shape[:2], -1)
        return channels @ channels.swapaxes(1, 2) / channels.shape[2]

    def error(found: Any, target: Any) -> Any:
        return ((found - target) ** 2).mean() / (target**2).mean()

    @jax.jit
    def targets(network: Any, content: Any, style: Any) -> Any:
        found = features(network, style)
        return features(network, content)[CONTENT_LAYER], [gram(found[i]) for i in STYLE_LAYERS]

    def loss_of(params: Any, network: Any, kept: Any, grams: Any) -> Any:
        found = features(network, params["picture"])
        losses = [error(gram(found[i]), g) for i, g in zip(STYLE_LAYERS, grams, strict=True)]
        return error(found[CONTENT_LAYER], kept) + 10 * sum(losses)

    start, content, style = style_data()
    network = _jax.arrays(vgg_weights())
    kept, grams = targets(network, content, style)
    return _jax.training({"picture": start}, _jax.adam(0.02), loss_of, network, kept, grams)


FAMILY = [
    Workload(f"DCGAN, 32x32, Adam, batch {BATCH}", dcgan, dcgan_jax),
    Workload(
        f"style transfer, VGG-16 to conv4_1, {SIZE}x{SIZE}, Adam",
        style_transfer,
        style_transfer_jax,
    ),
]
