"""The replay adapter of a protocol: what the engine must know of it, by role.

A protocol without an adapter of its own is replayed by its declarations alone.
"""

from wiretool.replay.adapter.explanation import Explanation
from wiretool.replay.adapter.matching import Matching
from wiretool.replay.adapter.preparation import Preparation
from wiretool.replay.adapter.rewriting import Rewriting
from wiretool.replay.adapter.values import (
    ABSENT as ABSENT,
)
from wiretool.replay.adapter.values import (
    Breach as Breach,
)
from wiretool.replay.adapter.values import (
    Difference as Difference,
)
from wiretool.replay.adapter.values import (
    Excuse as Excuse,
)
from wiretool.replay.adapter.values import (
    Identity as Identity,
)
from wiretool.replay.adapter.values import (
    Place as Place,
)
from wiretool.replay.adapter.values import (
    Steps as Steps,
)
from wiretool.replay.adapter.values import (
    Talk as Talk,
)
from wiretool.replay.adapter.values import (
    Verdict as Verdict,
)
from wiretool.replay.adapter.values import (
    Wait as Wait,
)
from wiretool.replay.adapter.values import (
    is_noise as is_noise,
)


class ReplayAdapter(Rewriting, Preparation, Matching, Explanation):
    """A protocol of which no more is to be known than what it declares; others say more."""
