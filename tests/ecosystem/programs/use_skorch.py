"""A network as a scikit-learn estimator: fit, score, pipelines, grid search, pickles."""

import pickle

import numpy
import torch
from sklearn.datasets import make_classification
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from skorch import NeuralNetClassifier
from torch import nn

torch.manual_seed(0)
x, y = make_classification(120, 8, n_informative=4, random_state=0)
x, y = x.astype(numpy.float32), y.astype(numpy.int64)


class Net(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(8, width), nn.ReLU(), nn.Linear(width, 2))

    def forward(self, x):
        return self.layers(x).softmax(-1)


net = NeuralNetClassifier(Net, max_epochs=40, lr=0.1, verbose=0, optimizer=torch.optim.Adam)
net.set_params(lr=0.01)
pipeline = make_pipeline(StandardScaler(), net).fit(x, y)
assert pipeline.score(x, y) > 0.7
again = pickle.loads(pickle.dumps(net))
numpy.testing.assert_allclose(again.predict_proba(x), net.predict_proba(x))
search = GridSearchCV(
    NeuralNetClassifier(Net, max_epochs=2, train_split=None, verbose=0),
    {"module__width": [4, 8]},
    cv=2,
)
search.fit(x, y)
assert search.best_params_["module__width"] in (4, 8)
