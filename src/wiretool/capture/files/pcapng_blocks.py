"""The types of blocks in pcapng files, for readers and writers (draft-ietf-opsawg-pcapng §4)."""


class Kind:
    """The types of block that matter here."""

    SECTION = 0x0A0D0D0A
    INTERFACE = 1
    OLD_PACKET = 2
    SIMPLE_PACKET = 3
    PACKET = 6
    SECRETS = 10


#: The type of the secrets in a block that are a key log of TLS (§4.7).
TLS_KEY_LOG = 0x544C534B
