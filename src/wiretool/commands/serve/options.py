"""The options of `wiretool serve` that shape the mock, as the command line has them."""

from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wiretool.server.options import MockOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class MockArguments:
    """Each option by its name, with underscores; the defaults are those of the command."""

    listen: str = ""
    controller: str = ""
    admin: str = ""
    advertise: str = ""
    wire_version: int | None = None
    auth: str = ""
    road: list[str] | None = None
    feed: Path | None = None
    rate: str = "0"
    retain: str = "2G"
    like_real: bool = False
    leases: bool = True
    seed: int = 0

    @property
    def endpoints(self) -> dict[str, str]:
        """The options that name addresses, in the order of the endpoints of a mock."""
        return {"--listen": self.listen, "--controller": self.controller, "--admin": self.admin}

    def mock_options(self, protocol: str) -> "MockOptions":
        """Return the options of a mock. UsageError or InputError for a value that makes no sense."""
        from wiretool.commands.serve.run import advertised, credentials, feed_from, size_from
        from wiretool.server.options import RATE_MAX, MockOptions
        from wiretool.units import RATE

        return MockOptions(
            seed=self.seed,
            retain_bytes=size_from(self.retain, option="--retain"),
            like_real=self.like_real,
            leases=self.leases,
            is_paced=True,
            wire_version=self.wire_version,
            has_admin=bool(self.admin),
            advertise=advertised(self.advertise),
            auth=credentials(self.auth),
            roads=self.road,
            feed=feed_from(protocol, self.feed),
            rate=RATE.parse(self.rate, "--rate", most=RATE_MAX),
        )

    def words(self) -> Iterator[str]:
        """Yield the words of a command line with these options; those with their default are left out."""
        for field in fields(self):
            value, option = getattr(self, field.name), "--" + field.name.replace("_", "-")
            if value == field.default:
                continue
            if isinstance(value, bool):
                yield option if value else option.replace("--", "--no-", 1)
            else:
                for each in value if isinstance(value, list) else [value]:
                    yield f"{option}={each}"
