"""Reading what autograd recorded: what graphs hold, and which line released them."""

from wengert.graph._describe import GraphReport as GraphReport
from wengert.graph._describe import Group as Group
from wengert.graph._describe import NodeInfo as NodeInfo
from wengert.graph._describe import SavedInfo as SavedInfo
from wengert.graph._describe import describe as describe
from wengert.graph._holders import Holder as Holder
from wengert.graph._live import Census as Census
from wengert.graph._live import Leak as Leak
from wengert.graph._live import LiveGraph as LiveGraph
from wengert.graph._live import LiveTensor as LiveTensor
from wengert.graph._live import live as live
from wengert.graph._memory import Finding as Finding
from wengert.graph._memory import Held as Held
from wengert.graph._memory import Line as Line
from wengert.graph._memory import Memory as Memory
from wengert.graph._memory import Report as Report
from wengert.graph._memory import held_by as held_by
from wengert.graph._recorder import Recorder as Recorder
from wengert.graph._saved import SavedValue as SavedValue
from wengert.graph._saved import SavedValues as SavedValues
from wengert.graph._saved import saved as saved
