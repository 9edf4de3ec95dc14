import pytest

from wiretool.errors import UsageError
from wiretool.net.addresses import Address, address_from, check_allowed, named_address, reachable


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("127.0.0.1:9090", ("127.0.0.1", 9090)),
        ("localhost:0", ("localhost", 0)),
        (":7000", ("127.0.0.1", 7000)),
        ("7000", ("127.0.0.1", 7000)),
        ("[::1]:12345", ("::1", 12345)),
    ],
)
def test_addresses(text: str, address: tuple[str, int]) -> None:
    assert address_from(text, option="--listen") == address


def test_a_host_alone_takes_the_usual_port() -> None:
    assert address_from("localhost", option="--listen", port=12345) == ("localhost", 12345)
    assert address_from("[::1]", option="--listen", port=12345) == ("::1", 12345)


@pytest.mark.parametrize("text", ["localhost", "127.0.0.1:", "a:b", "1:70000", "::1:5", "1:-1", "1:१"])
def test_no_addresses(text: str) -> None:
    with pytest.raises(UsageError, match="--listen"):
        address_from(text, option="--listen")


def test_it_is_written_as_it_is_read() -> None:
    for address in (Address("::1", 5), Address("127.0.0.1", 5)):
        assert address_from(str(address), option="") == address


def test_what_clients_may_call_a_bound_address() -> None:
    assert reachable("127.0.0.1", is_tls=False) == reachable("0.0.0.0", is_tls=False) == "127.0.0.1"
    assert reachable("::", is_tls=False) == "::1"
    assert reachable("127.0.0.1", is_tls=True) == reachable("0.0.0.0", is_tls=True) == "localhost"
    assert reachable("store.example", is_tls=True) == "store.example"


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1", "192.0.2.1"])
def test_this_machine_and_allowed_ones_may_be_targets(host: str) -> None:
    check_allowed(Address(host, 1), ["192.0.2.1"], "--target x")
    with pytest.raises(UsageError, match=r"--target x: another machine; --allow-remote 192\.0\.2\.2 allows it"):
        check_allowed(Address("192.0.2.2", 1), ["192.0.2.1"], "--target x")


def test_a_target_may_have_a_name() -> None:
    assert named_address("store=127.0.0.1:12345", (), option="--target") == ("store", Address("127.0.0.1", 12345))
    assert named_address("[::1]:9090", (), option="--target") == ("", Address("::1", 9090))
    with pytest.raises(UsageError, match=r"^--target example\.org:1: another machine; --allow-remote example\.org"):
        named_address("store=example.org:1", (), option="--target")
