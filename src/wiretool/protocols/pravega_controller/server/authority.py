"""Who may call, and the tokens with which callers go on to the store."""

import base64
import binascii
import hmac
from collections.abc import Iterable

from wiretool.protocols.pravega.server.tokens import Permission, TokenChecker

#: As the real controller makes its tokens.
_SUBJECT = "segmentstoreresource"
TOKEN_TTL_S = 600
_NS_PER_S = 1_000_000_000


class Authority:
    """Admits one user, who may do everything. `tokens` signs with the key that the store checks with."""

    def __init__(self, user: str, password: str, tokens: TokenChecker, *, ttl_s: int | None = TOKEN_TTL_S) -> None:
        self._account = f"{user}:{password}".encode()
        self._tokens = tokens
        self._ttl_s = ttl_s

    def admits(self, authorization: str | None) -> bool:
        """Whether the metadata `authorization` of a call names the user: `Basic` and base64 of `user:password`."""
        scheme, _, credentials = (authorization or "").partition(" ")
        if scheme.lower() != "basic":
            return False
        try:
            account = base64.b64decode(credentials.strip(), validate=True)
        except (binascii.Error, ValueError):
            return False
        return hmac.compare_digest(account, self._account)

    def token(self, scope: str, streams: Iterable[str], permission: Permission, now_ns: int) -> str:
        """A delegation token for the segments of streams."""
        resources = {f"prn::/scope:{scope}/stream:{stream}": permission for stream in streams}
        return self._tokens.issue(_SUBJECT, resources, now_ns // _NS_PER_S, self._ttl_s)
