"""Fuzzing of Offramp: the upgrade, the frames of WebSocket, and the JSON in them."""

from wiretool.fuzz.part import FuzzPart, SessionTable
from wiretool.protocols.offramp.fuzz import json_text, upgrade, websocket
from wiretool.protocols.offramp.session import TABLE, Phase, Unnamed

#: Names that frames have which are not a message by themselves.
_UNNAMED = ("Fragment", "Empty", "Deflated", "Unknown")

FUZZ = FuzzPart(
    mutations=(*json_text.MUTATIONS, *websocket.MUTATIONS, *upgrade.MUTATIONS),
    table=SessionTable(
        Phase.HTTP.value,
        {
            (phase.value, name): after.value
            for (phase, side, kind), after in TABLE.items()
            if side == "client" and phase is not Phase.JOINED
            for name in (_UNNAMED if kind is Unnamed else (kind.declaration.name,))
        },
    ),
)
