"""dpkt's own loop over Ethernet, IP and TCP: what reading packets one by one costs before anybody looks into them."""

import sys
from pathlib import Path

import dpkt


def count_payload(path: Path) -> tuple[int, int]:
    """How many packets a pcap has, and bytes of TCP payload."""
    packets = payload_bytes = 0
    with path.open("rb") as file:
        for _, packet in dpkt.pcap.Reader(file):
            ethernet = dpkt.ethernet.Ethernet(packet)
            tcp = ethernet.data.data
            packets += 1
            payload_bytes += len(tcp.data)
    return packets, payload_bytes


if __name__ == "__main__":
    print(*count_payload(Path(sys.argv[1])))
