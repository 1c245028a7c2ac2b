"""PPO and DQN on CartPole: learning, prediction, saving."""

import tempfile
from pathlib import Path

import gymnasium
import torch
from stable_baselines3 import DQN, PPO

torch.manual_seed(0)
environment = gymnasium.make("CartPole-v1")
model = PPO("MlpPolicy", environment, n_steps=128, batch_size=64, n_epochs=4, seed=0, device="cpu")
before = [p.detach().clone() for p in model.policy.parameters()]
model.learn(512)
assert any(not torch.equal(p, q) for p, q in zip(model.policy.parameters(), before, strict=True))
observation, _ = environment.reset(seed=0)
action, _ = model.predict(observation, deterministic=True)
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder, "ppo")
    model.save(path)
    again = PPO.load(path, device="cpu")
assert again.predict(observation, deterministic=True)[0] == action
DQN("MlpPolicy", environment, learning_starts=50, seed=0, device="cpu").learn(150)
