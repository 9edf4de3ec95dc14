"""Speaks the control API of a server or tap that runs."""

import http.client
import json
from http import HTTPStatus
from typing import Any
from urllib.parse import urlencode

from wiretool.errors import PeerError, Unmet, UsageError
from wiretool.net.addresses import Address
from wiretool.net.sockets import why_lost

#: How much longer than a wait the answer may take.
PATIENCE_S = 10.0


class ControlClient:
    """One request at a time.

    PeerError: nobody answers there, or too late, or it has stopped. UsageError: what was asked is refused. Unmet: what
    was waited for has not happened in time.
    """

    def __init__(self, address: Address) -> None:
        self._address = address

    def ask(self, method: str, path: str, body: object = None, *, patience_s: float = 0.0, **query: object) -> Any:
        """The answer to a request, out of JSON; None where it has none."""
        target = f"{path}?{urlencode(query)}" if query else path
        connection = http.client.HTTPConnection(*self._address, timeout=patience_s + PATIENCE_S)
        try:
            connection.request(
                method,
                target,
                body=None if body is None else json.dumps(body),
                headers={"Content-Type": "application/json"},
            )
            answer = connection.getresponse()
            return self._told(answer.status, answer.read())
        except (OSError, http.client.HTTPException) as err:
            raise PeerError(f"no control API at {self._address}: {why_lost(err)}") from err
        finally:
            connection.close()

    def _told(self, status: int, content: bytes) -> Any:
        if status >= HTTPStatus.BAD_REQUEST:
            why = f"{self._address}: {_reason(content) or HTTPStatus(status).phrase} (HTTP {status})"
            if status == HTTPStatus.REQUEST_TIMEOUT:
                raise Unmet(why)
            raise PeerError(why) if status >= HTTPStatus.INTERNAL_SERVER_ERROR else UsageError(why)
        if not content:
            return None
        try:
            return json.loads(content)
        except ValueError as err:
            raise PeerError(f"{self._address}: the reply is not JSON; expected a control API") from err


def _reason(content: bytes) -> str:
    """What a refusal says: FastAPI puts it under `detail`, our own are plain text."""
    text = content.decode("utf-8", "replace")
    try:
        told = json.loads(text)
    except ValueError:
        return text
    detail = told.get("detail", told) if isinstance(told, dict) else told
    return detail if isinstance(detail, str) else json.dumps(detail)
