"""The responses of the control API beside plain success, for its OpenAPI document."""

from typing import Any

#: Responses by status, in the form that FastAPI takes.
Responses = dict[int | str, dict[str, Any]]

_TEXT = {"text/plain": {"schema": {"type": "string"}}}
_DETAIL = {
    "application/json": {
        "schema": {"type": "object", "required": ["detail"], "properties": {"detail": {"type": "string"}}}
    }
}
_REFUSALS: Responses = {
    400: {"description": "The request makes no sense, or names another host.", "content": _TEXT},
    403: {"description": "The request is from a web page.", "content": _TEXT},
    404: {"description": "No rule or connection has this number.", "content": _DETAIL},
    408: {"description": "The rule was not hit often enough in time.", "content": _DETAIL},
    422: {"description": "The body or a parameter is not valid.", "content": _TEXT},
    503: {"description": "The server has stopped.", "content": _DETAIL},
}
NO_CONTENT: Responses = {204: {"description": "Done."}}
METRICS: Responses = {
    200: {
        "description": "The metrics.",
        "content": {**_TEXT, "application/openmetrics-text": {"schema": {"type": "string"}}},
    }
}


def refusals(*codes: int) -> Responses:
    """Return the responses with these status codes: each is a text, or an object with a text."""
    return {code: _REFUSALS[code] for code in codes}
