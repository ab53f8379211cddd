"""Bytecode: our own contracts compiled once per source and compiler, the public ones read from npm packages.

python -m tickyard.sandbox.contracts.build       writes the bytecode of the payout desk, which is shipped
"""

import hashlib
import json
import os
import re
import sys
from importlib.metadata import version
from pathlib import Path

from tickyard.payout import contracts
from tickyard.sandbox.node.process import find_root

EVM = "cancun"
# Older than what the sandbox runs: the desk must also run where the newest instructions are not known.
DESK_EVM = "shanghai"
DESK_SOURCE = Path(contracts.__file__).with_name("desk.vy")
_SOURCES = Path(__file__).parent


def cache_dir() -> Path:
    """The user's cache folder, by the custom of the system."""
    if os.environ.get("XDG_CACHE_HOME"):
        return Path(os.environ["XDG_CACHE_HOME"]) / "tickyard"
    home = Path.home()
    return (home / "Library" / "Caches" if sys.platform == "darwin" else home / ".cache") / "tickyard"


def compiled(name: str) -> str:
    """Runtime code of one of our contracts. None has a constructor, so it can be placed as it is."""
    source = (_SOURCES / f"{name}.vy").read_text()
    compiler = version("vyper")
    key = hashlib.sha256(f"{compiler}\n{EVM}\n{source}".encode()).hexdigest()[:32]
    kept = cache_dir() / f"{name}-{key}.hex"
    if kept.is_file():
        return kept.read_text()
    code = _compile(source)
    kept.parent.mkdir(parents=True, exist_ok=True)
    # Two worlds may start at once: each writes its own file, and the last rename wins with equal bytes.
    draft = kept.with_suffix(f".{os.getpid()}")
    draft.write_text(code)
    draft.replace(kept)
    return code


def _compile(source: str) -> str:
    # Importing the compiler takes longer than everything else here: only when it has work to do.
    from vyper.compiler import compile_code
    from vyper.compiler.settings import Settings

    output = compile_code(source, output_formats=["bytecode_runtime"], settings=Settings(evm_version=EVM))
    return str(output["bytecode_runtime"])


def compiled_desk() -> dict[str, str]:
    """The payout desk as it is shipped: whoever deploys it has no compiler, and everybody gets the same bytes."""
    from vyper.compiler import compile_code
    from vyper.compiler.settings import Settings

    settings = Settings(evm_version=DESK_EVM)
    output = compile_code(DESK_SOURCE.read_text(), output_formats=["bytecode", "bytecode_runtime"], settings=settings)
    made = {"compiler": f"vyper {version('vyper')}", "evm": DESK_EVM}
    return made | {"creation": str(output["bytecode"]), "runtime": str(output["bytecode_runtime"])}


def _package(path: str) -> Path:
    return find_root() / "node_modules" / path


def creation_code(artifact: str) -> str:
    return str(json.loads(_package(artifact).read_text())["bytecode"])


def runtime_template(artifact: str) -> str:
    """Runtime code with zeros where the constructor would write its immutables."""
    return str(json.loads(_package(artifact).read_text())["deployedBytecode"])


FACTORY = "@uniswap/v3-core/artifacts/contracts/UniswapV3Factory.sol/UniswapV3Factory.json"
POOL = "@uniswap/v3-core/artifacts/contracts/UniswapV3Pool.sol/UniswapV3Pool.json"
QUOTER = "@uniswap/v3-periphery/artifacts/contracts/lens/QuoterV2.sol/QuoterV2.json"
ROUTER = "@uniswap/swap-router-contracts/artifacts/contracts/SwapRouter02.sol/SwapRouter02.json"


def permit2_runtime() -> str:
    """The longest hex literal of the bundled test utility: Permit2 as it runs on every chain."""
    source = _package("@uniswap/v4-periphery/lib/permit2/test/utils/DeployPermit2.sol").read_text()
    literals: list[str] = re.findall(r'hex"([0-9a-f]+)"', source)
    return "0x" + max(literals, key=len)


def multicall3_creation() -> str:
    source = _package("viem/_cjs/constants/contracts.js").read_text()
    found = re.search(r"multicall3Bytecode = '(0x[0-9a-f]+)'", source)
    if not found:
        raise FileNotFoundError("viem no longer carries Multicall3's creation code")
    return found[1]


if __name__ == "__main__":
    DESK_SOURCE.with_suffix(".json").write_text(json.dumps(compiled_desk(), indent=1) + "\n")
