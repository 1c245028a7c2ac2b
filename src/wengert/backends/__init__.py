"""Switches of ``torch.backends`` that scripts set; those of other devices change nothing."""

from wengert.backends import conv as conv
from wengert.backends import cpu as cpu
from wengert.backends import cuda as cuda
from wengert.backends import cudnn as cudnn
from wengert.backends import mha as mha
from wengert.backends import mkl as mkl
from wengert.backends import mkldnn as mkldnn
from wengert.backends import mps as mps
from wengert.backends import openmp as openmp
from wengert.backends import opt_einsum as opt_einsum
from wengert.backends import quantized as quantized
