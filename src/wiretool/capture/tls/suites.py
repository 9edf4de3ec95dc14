"""Cipher suites: their keys and their protection of records (RFC 8446 §B.4, RFC 5246 §A.5 and later RFCs)."""

from typing import Literal, NamedTuple

Cipher = Literal["gcm", "ccm", "ccm8", "chacha", "cbc"]


class Suite(NamedTuple):
    """The protection of records; sizes in bytes."""

    cipher: Cipher
    key_bytes: int
    #: The hash of the key schedule.
    hash: str
    #: The hash of the MAC of records; only with `cbc`.
    mac: str = ""


_GCM_128, _GCM_256 = Suite("gcm", 16, "sha256"), Suite("gcm", 32, "sha384")
_CHACHA = Suite("chacha", 32, "sha256")
_CCM_128, _CCM_256 = Suite("ccm", 16, "sha256"), Suite("ccm", 32, "sha256")
_CCM8_128, _CCM8_256 = Suite("ccm8", 16, "sha256"), Suite("ccm8", 32, "sha256")
_CBC_128, _CBC_256 = Suite("cbc", 16, "sha256", "sha1"), Suite("cbc", 32, "sha256", "sha1")
_CBC_128_SHA256, _CBC_256_SHA256 = Suite("cbc", 16, "sha256", "sha256"), Suite("cbc", 32, "sha256", "sha256")
_CBC_256_SHA384 = Suite("cbc", 32, "sha384", "sha384")

#: By number; with the key exchange the protection does not change.
_FAMILIES: tuple[tuple[Suite, tuple[int, ...]], ...] = (
    (_GCM_128, (0x1301, 0x009C, 0x009E, 0x00A2, 0x00A8, 0x00AA, 0xC02B, 0xC02D, 0xC02F, 0xC031, 0xD001)),
    (_GCM_256, (0x1302, 0x009D, 0x009F, 0x00A3, 0x00A9, 0x00AB, 0xC02C, 0xC02E, 0xC030, 0xC032, 0xD002)),
    (_CHACHA, (0x1303, 0xCCA8, 0xCCA9, 0xCCAA, 0xCCAB, 0xCCAC, 0xCCAD)),
    (_CCM_128, (0x1304, 0xC09C, 0xC09E, 0xC0A4, 0xC0A6, 0xC0AC, 0xD005)),
    (_CCM_256, (0xC09D, 0xC09F, 0xC0A5, 0xC0A7, 0xC0AD)),
    (_CCM8_128, (0x1305, 0xC0A0, 0xC0A2, 0xC0A8, 0xC0AA, 0xC0AE, 0xD003)),
    (_CCM8_256, (0xC0A1, 0xC0A3, 0xC0A9, 0xC0AB, 0xC0AF)),
    (_CBC_128, (0x002F, 0x0032, 0x0033, 0x008C, 0x0090, 0xC004, 0xC009, 0xC00E, 0xC013, 0xC035)),
    (_CBC_256, (0x0035, 0x0038, 0x0039, 0x008D, 0x0091, 0xC005, 0xC00A, 0xC00F, 0xC014, 0xC036)),
    (_CBC_128_SHA256, (0x003C, 0x0040, 0x0067, 0x00AE, 0x00B2, 0xC023, 0xC025, 0xC027, 0xC029, 0xC037)),
    (_CBC_256_SHA256, (0x003D, 0x006A, 0x006B)),
    (_CBC_256_SHA384, (0x00AF, 0x00B3, 0xC024, 0xC026, 0xC028, 0xC02A, 0xC038)),
)
SUITES = {number: suite for suite, numbers in _FAMILIES for number in numbers}
