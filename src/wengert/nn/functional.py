"""The functions of `torch.nn.functional`, collected from the families of operations."""

from __future__ import annotations

from wengert.ops.activation import gelu as gelu
from wengert.ops.activation import glu as glu
from wengert.ops.activation import hardshrink as hardshrink
from wengert.ops.activation import hardsigmoid as hardsigmoid
from wengert.ops.activation import hardswish as hardswish
from wengert.ops.activation import logsigmoid as logsigmoid
from wengert.ops.activation import mish as mish
from wengert.ops.activation import silu as silu
from wengert.ops.activation import softplus as softplus
from wengert.ops.activation import softshrink as softshrink
from wengert.ops.activation import softsign as softsign
from wengert.ops.activation import tanhshrink as tanhshrink
from wengert.ops.adaptive import adaptive_avg_pool1d as adaptive_avg_pool1d
from wengert.ops.adaptive import adaptive_avg_pool2d as adaptive_avg_pool2d
from wengert.ops.adaptive import adaptive_avg_pool3d as adaptive_avg_pool3d
from wengert.ops.adaptive import adaptive_max_pool1d as adaptive_max_pool1d
from wengert.ops.adaptive import adaptive_max_pool2d as adaptive_max_pool2d
from wengert.ops.adaptive import adaptive_max_pool3d as adaptive_max_pool3d
from wengert.ops.adaptive import max_unpool1d as max_unpool1d
from wengert.ops.adaptive import max_unpool2d as max_unpool2d
from wengert.ops.adaptive import max_unpool3d as max_unpool3d
from wengert.ops.attention import scaled_dot_product_attention as scaled_dot_product_attention
from wengert.ops.classification import cross_entropy as cross_entropy
from wengert.ops.classification import multi_margin_loss as multi_margin_loss
from wengert.ops.classification import multilabel_margin_loss as multilabel_margin_loss
from wengert.ops.classification import nll_loss as nll_loss
from wengert.ops.conv import conv1d as conv1d
from wengert.ops.conv import conv2d as conv2d
from wengert.ops.conv import conv3d as conv3d
from wengert.ops.conv import conv_transpose1d as conv_transpose1d
from wengert.ops.conv import conv_transpose2d as conv_transpose2d
from wengert.ops.conv import conv_transpose3d as conv_transpose3d
from wengert.ops.ctc import ctc_loss as ctc_loss
from wengert.ops.distance import cosine_similarity as cosine_similarity
from wengert.ops.distance import pairwise_distance as pairwise_distance
from wengert.ops.distance import pdist as pdist
from wengert.ops.dropout import alpha_dropout as alpha_dropout
from wengert.ops.dropout import dropout as dropout
from wengert.ops.dropout import dropout1d as dropout1d
from wengert.ops.dropout import dropout2d as dropout2d
from wengert.ops.dropout import dropout3d as dropout3d
from wengert.ops.dropout import feature_alpha_dropout as feature_alpha_dropout
from wengert.ops.embedding import embedding as embedding
from wengert.ops.embedding import embedding_bag as embedding_bag
from wengert.ops.embedding import one_hot as one_hot
from wengert.ops.exponential import sigmoid as sigmoid
from wengert.ops.fractional import fractional_max_pool2d as fractional_max_pool2d
from wengert.ops.fractional import fractional_max_pool3d as fractional_max_pool3d
from wengert.ops.functional_softmax import gumbel_softmax as gumbel_softmax
from wengert.ops.functional_softmax import log_softmax as log_softmax
from wengert.ops.functional_softmax import softmax as softmax
from wengert.ops.functional_softmax import softmin as softmin
from wengert.ops.grid import affine_grid as affine_grid
from wengert.ops.grid import grid_sample as grid_sample
from wengert.ops.interpolate import interpolate as interpolate
from wengert.ops.interpolate import upsample as upsample
from wengert.ops.interpolate import upsample_bilinear as upsample_bilinear
from wengert.ops.interpolate import upsample_nearest as upsample_nearest
from wengert.ops.linear import bilinear as bilinear
from wengert.ops.linear import linear as linear
from wengert.ops.loss import binary_cross_entropy as binary_cross_entropy
from wengert.ops.loss import binary_cross_entropy_with_logits as binary_cross_entropy_with_logits
from wengert.ops.loss import cosine_embedding_loss as cosine_embedding_loss
from wengert.ops.loss import gaussian_nll_loss as gaussian_nll_loss
from wengert.ops.loss import hinge_embedding_loss as hinge_embedding_loss
from wengert.ops.loss import huber_loss as huber_loss
from wengert.ops.loss import kl_div as kl_div
from wengert.ops.loss import l1_loss as l1_loss
from wengert.ops.loss import margin_ranking_loss as margin_ranking_loss
from wengert.ops.loss import mse_loss as mse_loss
from wengert.ops.loss import multilabel_soft_margin_loss as multilabel_soft_margin_loss
from wengert.ops.loss import poisson_nll_loss as poisson_nll_loss
from wengert.ops.loss import smooth_l1_loss as smooth_l1_loss
from wengert.ops.loss import soft_margin_loss as soft_margin_loss
from wengert.ops.loss import triplet_margin_loss as triplet_margin_loss
from wengert.ops.loss import triplet_margin_with_distance_loss as triplet_margin_with_distance_loss
from wengert.ops.multihead import (
    multi_head_attention_forward as multi_head_attention_forward,
)
from wengert.ops.norm import batch_norm as batch_norm
from wengert.ops.norm import group_norm as group_norm
from wengert.ops.norm import instance_norm as instance_norm
from wengert.ops.norm import layer_norm as layer_norm
from wengert.ops.norm import local_response_norm as local_response_norm
from wengert.ops.norm import normalize as normalize
from wengert.ops.norm import rms_norm as rms_norm
from wengert.ops.padding import pad as pad
from wengert.ops.pool import avg_pool1d as avg_pool1d
from wengert.ops.pool import avg_pool2d as avg_pool2d
from wengert.ops.pool import avg_pool3d as avg_pool3d
from wengert.ops.pool import lp_pool1d as lp_pool1d
from wengert.ops.pool import lp_pool2d as lp_pool2d
from wengert.ops.pool import lp_pool3d as lp_pool3d
from wengert.ops.pool import max_pool1d as max_pool1d
from wengert.ops.pool import max_pool1d_with_indices as max_pool1d_with_indices
from wengert.ops.pool import max_pool2d as max_pool2d
from wengert.ops.pool import max_pool2d_with_indices as max_pool2d_with_indices
from wengert.ops.pool import max_pool3d as max_pool3d
from wengert.ops.pool import max_pool3d_with_indices as max_pool3d_with_indices
from wengert.ops.rectifiers import celu as celu
from wengert.ops.rectifiers import celu_ as celu_
from wengert.ops.rectifiers import elu as elu
from wengert.ops.rectifiers import elu_ as elu_
from wengert.ops.rectifiers import hardtanh as hardtanh
from wengert.ops.rectifiers import hardtanh_ as hardtanh_
from wengert.ops.rectifiers import leaky_relu as leaky_relu
from wengert.ops.rectifiers import leaky_relu_ as leaky_relu_
from wengert.ops.rectifiers import prelu as prelu
from wengert.ops.rectifiers import relu as relu
from wengert.ops.rectifiers import relu6 as relu6
from wengert.ops.rectifiers import relu_ as relu_
from wengert.ops.rectifiers import rrelu as rrelu
from wengert.ops.rectifiers import rrelu_ as rrelu_
from wengert.ops.rectifiers import selu as selu
from wengert.ops.rectifiers import selu_ as selu_
from wengert.ops.rectifiers import threshold as threshold
from wengert.ops.rectifiers import threshold_ as threshold_
from wengert.ops.trigonometry import tanh as tanh
from wengert.ops.vision import channel_shuffle as channel_shuffle
from wengert.ops.vision import fold as fold
from wengert.ops.vision import pixel_shuffle as pixel_shuffle
from wengert.ops.vision import pixel_unshuffle as pixel_unshuffle
from wengert.ops.vision import unfold as unfold

__all__ = [
    "adaptive_avg_pool1d",
    "adaptive_avg_pool2d",
    "adaptive_avg_pool3d",
    "adaptive_max_pool1d",
    "adaptive_max_pool2d",
    "adaptive_max_pool3d",
    "affine_grid",
    "alpha_dropout",
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool3d",
    "batch_norm",
    "bilinear",
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "celu",
    "celu_",
    "channel_shuffle",
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "cosine_embedding_loss",
    "cosine_similarity",
    "cross_entropy",
    "ctc_loss",
    "dropout",
    "dropout1d",
    "dropout2d",
    "dropout3d",
    "elu",
    "elu_",
    "embedding",
    "embedding_bag",
    "feature_alpha_dropout",
    "fold",
    "fractional_max_pool2d",
    "fractional_max_pool3d",
    "gaussian_nll_loss",
    "gelu",
    "glu",
    "grid_sample",
    "group_norm",
    "gumbel_softmax",
    "hardshrink",
    "hardsigmoid",
    "hardswish",
    "hardtanh",
    "hardtanh_",
    "hinge_embedding_loss",
    "huber_loss",
    "instance_norm",
    "interpolate",
    "kl_div",
    "l1_loss",
    "layer_norm",
    "leaky_relu",
    "leaky_relu_",
    "linear",
    "local_response_norm",
    "log_softmax",
    "logsigmoid",
    "lp_pool1d",
    "lp_pool2d",
    "lp_pool3d",
    "margin_ranking_loss",
    "max_pool1d",
    "max_pool1d_with_indices",
    "max_pool2d",
    "max_pool2d_with_indices",
    "max_pool3d",
    "max_pool3d_with_indices",
    "max_unpool1d",
    "max_unpool2d",
    "max_unpool3d",
    "mish",
    "mse_loss",
    "multi_head_attention_forward",
    "multi_margin_loss",
    "multilabel_margin_loss",
    "multilabel_soft_margin_loss",
    "nll_loss",
    "normalize",
    "one_hot",
    "pad",
    "pairwise_distance",
    "pdist",
    "pixel_shuffle",
    "pixel_unshuffle",
    "poisson_nll_loss",
    "prelu",
    "relu",
    "relu6",
    "relu_",
    "rms_norm",
    "rrelu",
    "rrelu_",
    "scaled_dot_product_attention",
    "selu",
    "selu_",
    "sigmoid",
    "silu",
    "smooth_l1_loss",
    "soft_margin_loss",
    "softmax",
    "softmin",
    "softplus",
    "softshrink",
    "softsign",
    "tanh",
    "tanhshrink",
    "threshold",
    "threshold_",
    "triplet_margin_loss",
    "triplet_margin_with_distance_loss",
    "unfold",
    "upsample",
    "upsample_bilinear",
    "upsample_nearest",
]
