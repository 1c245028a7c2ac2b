"""Collectives, and who a rank is, in one place."""

from wengert.horovod.common.basics import *
from wengert.horovod.common.exceptions import HorovodInternalError as HorovodInternalError
from wengert.horovod.common.process_sets import *
from wengert.horovod.torch.exchanges import *
from wengert.horovod.torch.negotiation import join as join
from wengert.horovod.torch.negotiation import poll as poll
from wengert.horovod.torch.negotiation import synchronize as synchronize
from wengert.horovod.torch.reductions import *
from wengert.horovod.torch.sparse_reductions import *
