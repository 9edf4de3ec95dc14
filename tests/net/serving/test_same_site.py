"""What a page of another site has a browser send is told from what anybody else sends."""

import socket

import pytest

from wiretool.net.serving.same_site import refusal


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "127.0.0.1:8089"},
        {"Host": "[::1]:8089"},
        {"Host": "localhost:8089"},
        {"Host": f"{socket.gethostname()}:8089"},
        {"Host": "192.0.2.7:8089"},
        {"Host": "127.0.0.1:8089", "Origin": "http://127.0.0.1:8089", "Sec-Fetch-Site": "same-origin"},
        {"Host": "127.0.0.1:8089", "Sec-Fetch-Site": "none"},
        {"Host": "127.0.0.1:8089", "Referer": "http://127.0.0.1:8089/?tab=charts"},
    ],
)
def test_own_requests(headers: dict[str, str]) -> None:
    assert refusal(headers) == ""


@pytest.mark.parametrize(
    ("headers", "why"),
    [
        ({}, "the host '' is not this machine"),
        ({"Host": "evil.example:8089"}, "the host 'evil.example:8089' is not this machine"),
        ({"Host": "127.0.0.1.evil.example"}, "is not this machine"),
        ({"Host": "[::1"}, "is not this machine"),
        ({"Host": "127.0.0.1:8089", "Origin": "http://evil.example"}, "a page of 'http://evil.example'"),
        ({"Host": "127.0.0.1:8089", "Origin": "http://127.0.0.1:80"}, "a page of 'http://127.0.0.1:80'"),
        ({"Host": "127.0.0.1:8089", "Origin": "null"}, "a page of 'null'"),
        ({"Host": "127.0.0.1:8089", "Origin": "http://[::1"}, "a page of 'http://[::1'"),
        ({"Host": "127.0.0.1:8089", "Referer": "http://evil.example/x"}, "a page of 'http://evil.example/x'"),
        ({"Host": "127.0.0.1:8089", "Referer": "http://127.0.0.1:80/"}, "a page of 'http://127.0.0.1:80/'"),
        ({"Host": "127.0.0.1:8089", "Referer": "http://[::1"}, "a page of 'http://[::1'"),
        ({"Host": "127.0.0.1:8089", "Referer": ""}, "a page of ''"),
        ({"Host": "127.0.0.1:8089", "Sec-Fetch-Site": "cross-site"}, "a page of another site"),
        ({"Host": "localhost:8089", "Sec-Fetch-Site": "same-site"}, "a page of another site"),
    ],
)
def test_requests_of_other_pages(headers: dict[str, str], why: str) -> None:
    assert why in refusal(headers)
