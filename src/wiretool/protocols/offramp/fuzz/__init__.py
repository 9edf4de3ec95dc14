"""Fuzzing of Offramp: the upgrade, the frames of WebSocket, and the JSON in them."""

from wiretool.fuzz.part import FuzzPart
from wiretool.protocols.offramp.fuzz import json_text, upgrade, websocket

FUZZ = FuzzPart(mutations=(*json_text.MUTATIONS, *websocket.MUTATIONS, *upgrade.MUTATIONS))
