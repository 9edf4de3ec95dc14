"""Compile the exported Kaitai Struct files to Python: `python -m tests.export.kaitai.compile`, with Node.js and npm.

The compiler, which is on npm alone, is not installed for tests: they read its output, and compare digests of the files.
"""

import hashlib
import json
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

import yaml

from wiretool.export.kaitai import COMPILER_VERSION, is_exportable, make_kaitai
from wiretool.protocols.base.registry import PROTOCOLS

COMPILED = Path(__file__).with_name("compiled")
DIGESTS = COMPILED / "digests.json"
EXPORTED = [name for name, protocol in PROTOCOLS.items() if is_exportable(protocol)]


def digest_of(name: str) -> str:
    """Return the digest of an exported file."""
    return hashlib.sha256(make_kaitai(PROTOCOLS[name], "0").encode()).hexdigest()


def compile_all() -> None:
    """Compile the file of each protocol, and note its digest."""
    with TemporaryDirectory() as folder:
        package = f"kaitai-struct-compiler@{COMPILER_VERSION}.0"
        subprocess.run(["npm", "install", "--no-save", "--prefix", folder, package], check=True)
        compiler = Path(folder, "node_modules", "kaitai-struct-compiler")
        for name in EXPORTED:
            source = Path(folder, f"{name}.json")
            source.write_text(json.dumps(yaml.safe_load(make_kaitai(PROTOCOLS[name], "0"))))
            script = Path(__file__).with_name("compile.js")
            subprocess.run(["node", str(script), str(compiler), str(source), str(COMPILED)], check=True)
    DIGESTS.write_text(json.dumps({name: digest_of(name) for name in EXPORTED}, indent=2) + "\n")


if __name__ == "__main__":
    compile_all()
