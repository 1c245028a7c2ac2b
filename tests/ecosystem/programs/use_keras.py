"""Keras 3 with KERAS_BACKEND=torch: fit, validate, save and load; attention and recurrence."""

import keras
import numpy as np
from keras import layers

keras.utils.set_random_seed(0)
rng = np.random.default_rng(0)
digits = rng.integers(0, 10, 256)
images = rng.normal(size=(256, 8, 8, 1)).astype("float32") * 0.1
images[np.arange(256), digits % 8, digits // 8] += 2.0
model = keras.Sequential(
    [
        keras.Input((8, 8, 1)),
        layers.Conv2D(16, 3, padding="same", activation="relu"),
        layers.BatchNormalization(momentum=0.5),
        layers.Flatten(),
        layers.Dropout(0.1),
        layers.Dense(10),
    ]
)
loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
model.compile(keras.optimizers.AdamW(1e-2), loss, metrics=["accuracy"])
history = model.fit(images, digits, epochs=5, batch_size=32, validation_split=0.25, verbose=0)
assert history.history["val_accuracy"][-1] > 0.8, history.history
model.save("model.keras")
loaded = keras.saving.load_model("model.keras")
np.testing.assert_array_equal(loaded.predict(images, verbose=0), model.predict(images, verbose=0))

tokens = keras.Input((12,))
x = layers.Embedding(20, 16)(tokens)
x = layers.LayerNormalization()(x + layers.MultiHeadAttention(2, 8)(x, x))
x = layers.Bidirectional(layers.LSTM(8))(x)
model = keras.Model(tokens, layers.Dense(2, activation="softmax")(x))
model.compile("adam", "sparse_categorical_crossentropy")
texts = rng.integers(0, 20, (128, 12))
losses = model.fit(texts, (texts[:, 0] > 9).astype(int), epochs=6, verbose=0).history["loss"]
assert losses[-1] < losses[0]
print(losses)
