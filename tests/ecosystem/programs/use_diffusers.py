"""A small UNet learns to take noise away; DDPM and DDIM sample from it."""

import tempfile

import torch
from diffusers import DDIMScheduler, DDPMPipeline, DDPMScheduler, UNet2DModel

torch.manual_seed(0)
model = UNet2DModel(
    sample_size=16,
    in_channels=1,
    out_channels=1,
    layers_per_block=1,
    block_out_channels=(16, 32),
    norm_num_groups=4,
    down_block_types=("DownBlock2D", "AttnDownBlock2D"),
    up_block_types=("AttnUpBlock2D", "UpBlock2D"),
)
noises = DDPMScheduler(num_train_timesteps=20)
images = torch.zeros(8, 1, 16, 16)
images[:, :, 4:12, 4:12] = 1
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
losses = []
for _ in range(20):
    noise = torch.randn_like(images)
    steps = torch.randint(0, 20, (8,))
    noisy = noises.add_noise(images, noise, steps)
    loss = torch.nn.functional.mse_loss(model(noisy, steps).sample, noise)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
assert sum(losses[-5:]) < sum(losses[:5]), losses

model.eval()
pipeline = DDPMPipeline(unet=model, scheduler=noises)
pipeline.set_progress_bar_config(disable=True)
generator = torch.Generator().manual_seed(0)
out = pipeline(batch_size=1, num_inference_steps=4, generator=generator, output_type="np").images
assert out.shape == (1, 16, 16, 1)

scheduler = DDIMScheduler.from_config(noises.config)
scheduler.set_timesteps(4)
sample = torch.randn(1, 1, 16, 16)
with torch.no_grad():
    for step in scheduler.timesteps:
        sample = scheduler.step(model(sample, step).sample, step, sample).prev_sample
assert torch.isfinite(sample).all()

with tempfile.TemporaryDirectory() as folder:
    model.save_pretrained(folder)
    again = UNet2DModel.from_pretrained(folder).eval()
with torch.no_grad():
    torch.testing.assert_close(again(images, 3).sample, model(images, 3).sample)
