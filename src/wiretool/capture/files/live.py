"""Packets of a network interface, as they come."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from functools import partial
from time import monotonic, time_ns
from typing import Any

from wiretool.capture.packets import Packet, Tick
from wiretool.errors import CaptureError, UsageError, system_reason

#: How often a capture that hears nothing looks whether its time is over.
POLL_S = 0.03
#: How often one that receives packets gives a tick all the same.
TICK_NS = 30_000_000
#: More than the largest packet that loopback and segmentation offload make.
SNAP_BYTES = 256 * 1024
#: What the kernel may hold for us: some tenths of a second of traffic on a fast link.
BUFFER_BYTES = 64 * 1024 * 1024
#: SOL_SOCKET, SO_RCVBUFFORCE (Linux, asm-generic/socket.h): beyond the system's limit, with CAP_NET_ADMIN.
FORCE_BUFFER = 1, 33
#: The link type, by Scapy's name of the layer.
LINK_TYPES = {"Ether": 1, "CookedLinux": 113, "CookedLinuxV2": 276, "Loopback": 0, "IP": 101, "IPv6": 101}
ETHERNET, RAW = 1, 101
#: libpcap reads `rpcap://HOST/IFACE` only where it was built with remote capture, which is not its default.
REMOTE = (
    "not an interface of this machine; expected the name of one; capture on the other machine instead: "
    "ssh HOST tcpdump --immediate-mode -U -B 65536 -w - -i IFACE tcp port PORT | wiretool decode -"
)
#: Below these Scapy keeps its configuration and caches.
SCAPY_FOLDERS = ("XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME")
#: Linux's hardware types of devices without link layer, as tunnels are: ARPHRD_NONE, ARPHRD_RAWIP, ARPHRD_PPP.
HARDWARE_OF_IP = frozenset((65534, 519, 512))

_packet = partial(tuple.__new__, Packet)


def sniff(interface: str, *, bpf: str = "", count: int = 0, duration_s: float = 0.0) -> Iterator[Packet]:
    """Packets of an interface until there are `count` or `duration_s` is over (0: no such limit), or until Ctrl-C.

    The interface is open when this returns: whatever is sent from then on is seen. Times are exact to a microsecond.
    """
    return _packets_until_ctrl_c(_packets(interface, _listen(interface, bpf), count, duration_s))


def sniff_with_ticks(
    interface: str, *, bpf: str = "", duration_s: float = 0.0, is_over: Callable[[], bool] = bool
) -> Iterator[Packet | Tick]:
    """Sniff packets of an interface until `is_over`, with a tick between them about every `POLL_S`."""
    return _packets(interface, _listen(interface, bpf), 0, duration_s, is_over)


def _packets_until_ctrl_c(arrivals: Iterator[Packet | Tick]) -> Iterator[Packet]:
    with suppress(KeyboardInterrupt):
        yield from (arrival for arrival in arrivals if isinstance(arrival, Packet))


def _listen(interface: str, bpf: str) -> Any:
    """A Scapy socket that gets every packet of the interface once."""
    if "://" in interface:
        raise UsageError(f"--live {interface}: {REMOTE}")
    with _without_home_files():
        from scapy.config import conf
        from scapy.error import Scapy_Exception
        from scapy.interfaces import get_if_list
        from scapy.layers import l2

    assert l2.Ether  # importing it is what tells Scapy of link layers and interfaces
    known = get_if_list()
    if interface not in known:
        raise UsageError(f"no interface {interface}; expected one of {', '.join(sorted(known))}")
    conf.bufsize = BUFFER_BYTES
    # Loopback shows each packet going out and coming in; the socket that can also send leaves out those going out.
    kind = conf.L2socket if interface == conf.loopback_name else conf.L2listen
    try:
        listener = kind(iface=interface, filter=bpf or None)
    except PermissionError as err:
        raise UsageError(f"capturing on {interface} needs root or CAP_NET_RAW: {system_reason(err)}") from err
    except (Scapy_Exception, OSError) as err:
        raise UsageError(_refusal(interface, str(err))) from err
    _widen(listener)
    return listener


def _refusal(interface: str, text: str) -> str:
    """Return why an interface gives no packets; `text` is the message of Scapy and libpcap."""
    found = re.search(r"Failed to compile filter expression (?P<filter>'.*?'|\".*?\") \((?P<why>.*)\)$", text)
    if found is None:
        return f"capturing on {interface}: {text}"
    unknown = re.match(r"unknown (?P<kind>\w+) '(?P<name>.*)'$", found["why"])
    why = f"no {unknown['kind']} is called {unknown['name']!a}" if unknown else "not a filter of libpcap"
    return f"--filter {found['filter']}: {why}; expected one such as 'tcp port 12345' (see man pcap-filter)"


@contextmanager
def _without_home_files() -> Iterator[None]:
    """Keep Scapy from reading and writing files of its own, as it does while it is imported.

    It makes folders in the home of the user and fails where it may not look into them. A path below the null device
    neither exists nor can be made.
    """
    before = {name: os.environ.get(name) for name in SCAPY_FOLDERS}
    os.environ.update(dict.fromkeys(SCAPY_FOLDERS, os.devnull))
    try:
        yield
    finally:
        for name, value in before.items():
            del os.environ[name]
            if value is not None:
                os.environ[name] = value


def _widen(listener: Any) -> None:
    """Let the kernel hold more than it lets just anyone ask for; without it a burst is lost."""
    with suppress(OSError, AttributeError):
        listener.ins.setsockopt(*FORCE_BUFFER, BUFFER_BYTES)


def _packets(
    interface: str, listener: Any, count: int, duration_s: float, is_over: Callable[[], bool] = bool
) -> Iterator[Packet | Tick]:
    number, ticked_ns = 0, 0
    with closing(listener):
        for arrival in _received(interface, listener, duration_s, is_over):
            if arrival is None:
                yield Tick(time_ns())
                continue
            number += 1
            link_type, data, captured_ns = arrival
            yield _packet((number, captured_ns, link_type, data, len(data)))
            if number == count:
                return
            if captured_ns >= ticked_ns + TICK_NS:
                ticked_ns = captured_ns
                yield Tick(captured_ns)


def _received(
    interface: str, listener: Any, duration_s: float, is_over: Callable[[], bool]
) -> Iterator[tuple[int, bytes, int] | None]:
    """Yield link type, bytes and time of each packet, and None where none arrives, until the time is over."""
    until = monotonic() + duration_s if duration_s else float("inf")
    is_ip = _is_bare(listener)
    try:
        while (left := until - monotonic()) > 0 and not is_over():
            if not listener.select([listener], min(left, POLL_S)):
                yield None
                continue
            layer, data, time_s = listener.recv_raw(SNAP_BYTES)
            if data:
                link_type = RAW if is_ip else LINK_TYPES.get(layer.__name__, ETHERNET)
                yield link_type, data, round(time_s * 1_000_000) * 1000
    except OSError as err:
        raise CaptureError(interface, f"cannot be read any more: {system_reason(err)}") from err


def _is_bare(listener: Any) -> bool:
    """Whether the interface gives packets that begin with IP, which Scapy takes for Ethernet."""
    address: tuple[Any, ...] = listener.ins.getsockname() if hasattr(listener.ins, "getsockname") else ()
    return len(address) > 3 and address[3] in HARDWARE_OF_IP
