"""A check of Spark's own masters (`spark://HOST:PORT[,HOST:PORT...]`) before Spark starts.

Spark retries a master that refuses for more than a minute, and then reports an error of its own.
"""

from wiretool.errors import PeerError, UsageError
from wiretool.net.addresses import Address, address_from
from wiretool.net.calling.reach import why_unreachable

SCHEME = "spark://"
#: How long one master may take to accept a connection.
ANSWER_S = 3.0


def check_master(master: str | None) -> None:
    """Connect to the hosts of a `spark://` master until one accepts; do nothing for other masters.

    PeerError if none accepts, UsageError for a host without a port.
    """
    if master is None or not master.startswith(SCHEME):
        return
    reasons = []
    for address in _addresses(master):
        why = why_unreachable(address, within_s=ANSWER_S)
        if not why:
            return
        reasons.append(f"{address}: {why}")
    raise PeerError(
        f"cannot reach Spark's master {master}: {_listed(reasons)}; start one there, or use --master 'local[*]'"
    )


def _addresses(master: str) -> list[Address]:
    hosts = master.removeprefix(SCHEME).split(",")
    addresses = [address_from(host, option="--master", host="") for host in hosts]
    if not all(address.host and address.port for address in addresses):
        raise UsageError(f"--master {master!r}: a host or a port is missing; expected {SCHEME}HOST:PORT")
    return addresses


def _listed(reasons: list[str]) -> str:
    """Return the reasons in one line; a single one without its address, which the master's name has."""
    return reasons[0].partition(": ")[2] if len(reasons) == 1 else ", ".join(reasons)
