"""The interface of a gRPC service as a .proto file, which other programs read as it is."""

from dataclasses import dataclass
from importlib.resources import files


@dataclass(frozen=True, slots=True)
class ProtoFile:
    """A .proto file in a package."""

    package: str
    name: str

    def read_text(self) -> str:
        return files(self.package).joinpath(self.name).read_text()
