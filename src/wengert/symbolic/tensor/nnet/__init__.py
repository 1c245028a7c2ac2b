"""``theano.tensor.nnet``: activations, losses, convolutions and normalisation."""

import sys as _sys

from wengert.symbolic.expressions.activations import LogSoftmax as LogSoftmax
from wengert.symbolic.expressions.activations import Softmax as Softmax
from wengert.symbolic.expressions.activations import binary_crossentropy as binary_crossentropy
from wengert.symbolic.expressions.activations import confusion_matrix as confusion_matrix
from wengert.symbolic.expressions.activations import elu as elu
from wengert.symbolic.expressions.activations import h_softmax as h_softmax
from wengert.symbolic.expressions.activations import hard_sigmoid as hard_sigmoid
from wengert.symbolic.expressions.activations import logsoftmax as logsoftmax
from wengert.symbolic.expressions.activations import logsoftmax_op as logsoftmax_op
from wengert.symbolic.expressions.activations import relu as relu
from wengert.symbolic.expressions.activations import selu as selu
from wengert.symbolic.expressions.activations import sigmoid as sigmoid
from wengert.symbolic.expressions.activations import sigmoid as sigmoid_inplace
from wengert.symbolic.expressions.activations import (
    sigmoid_binary_crossentropy as sigmoid_binary_crossentropy,
)
from wengert.symbolic.expressions.activations import softmax as softmax
from wengert.symbolic.expressions.activations import softmax_graph as softmax_graph
from wengert.symbolic.expressions.activations import softmax_op as softmax_op
from wengert.symbolic.expressions.activations import softplus as softplus
from wengert.symbolic.expressions.activations import softsign as softsign
from wengert.symbolic.expressions.activations import ultra_fast_sigmoid as ultra_fast_sigmoid
from wengert.symbolic.expressions.crossentropy import *
from wengert.symbolic.scalar.classes import KINDS as _kinds  # noqa: N811
from wengert.symbolic.tensor.nnet import abstract_conv as abstract_conv
from wengert.symbolic.tensor.nnet import blocksparse as blocksparse
from wengert.symbolic.tensor.nnet import bn as bn
from wengert.symbolic.tensor.nnet import conv as conv
from wengert.symbolic.tensor.nnet import conv3d2d as conv3d2d
from wengert.symbolic.tensor.nnet import corr as corr
from wengert.symbolic.tensor.nnet import corr3d as corr3d
from wengert.symbolic.tensor.nnet import ctc as ctc
from wengert.symbolic.tensor.nnet import neighbours as neighbours
from wengert.symbolic.tensor.nnet.abstract_conv import conv2d as abstract_conv2d
from wengert.symbolic.tensor.nnet.abstract_conv import conv2d as conv2d
from wengert.symbolic.tensor.nnet.abstract_conv import (
    conv2d_grad_wrt_inputs as conv2d_grad_wrt_inputs,
)
from wengert.symbolic.tensor.nnet.abstract_conv import conv2d_transpose as conv2d_transpose
from wengert.symbolic.tensor.nnet.abstract_conv import conv3d as conv3d
from wengert.symbolic.tensor.nnet.abstract_conv import separable_conv2d as separable_conv2d
from wengert.symbolic.tensor.nnet.bn import batch_normalization as batch_normalization
from wengert.symbolic.tensor.nnet.bn import batch_normalization_test as batch_normalization_test
from wengert.symbolic.tensor.nnet.bn import batch_normalization_train as batch_normalization_train

nnet = sigm = _sys.modules[__name__]
ScalarSigmoid, ScalarSoftplus = _kinds["ScalarSigmoid"], _kinds["ScalarSoftplus"]
scalar_sigmoid, scalar_softplus = sigmoid, softplus
