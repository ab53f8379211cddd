"""One question of the doctor's, and what came of it."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

from tickyard.chain.boot import WrongChain
from tickyard.chain.rpc.trouble import RpcError
from tickyard.kernel.clock import Clock
from tickyard.kernel.errors import Failure
from tickyard.processes.doctor.reach import cannot_reach
from tickyard.store.engine import StoreRefused

_PATIENCE_S: Final = 15


class Bad(Exception):
    """Something is wrong: what was found, and how to mend it."""

    def __init__(self, found: str, mend: str) -> None:
        super().__init__(found)
        self.found = found
        self.mend = mend


@dataclass(frozen=True, slots=True)
class Examination:
    name: str
    ask: Callable[[], Awaitable[str]]
    mend: str
    """What to do when it is not answered at all."""
    url: str = ""
    """Whom it asks."""


@dataclass(frozen=True, slots=True)
class Finding:
    name: str
    is_good: bool
    found: str
    mend: str
    took_ms: int

    def lines(self) -> list[str]:
        mark = "good" if self.is_good else "BAD"
        said = [f"  {mark:5} {self.name:22} {self.found} ({self.took_ms} ms)"]
        return said if self.is_good else [*said, f"        {'':20} -> {self.mend}"]


async def find_out(question: Examination, clock: Clock) -> Finding:
    began = clock.monotonic()
    found, mend, is_good = "", question.mend, False
    try:
        async with asyncio.timeout(_PATIENCE_S):
            found, is_good = await question.ask(), True
    except Bad as bad:
        found, mend = bad.found, bad.mend
    except StoreRefused as refused:
        found, mend = refused.found, refused.mend
    except Failure as failure:
        found = failure.message
    except WrongChain as wrong:
        found = str(wrong)
    except RpcError:
        found = "the node refused the question"
    except TimeoutError:
        found = f"no answer within {_PATIENCE_S} s"
    except OSError as error:
        # A folder that this account may not even look into: one bad line, and the others are still read.
        found = ": ".join(str(part) for part in (error.filename, error.strerror) if part) or "the system refused"
    if not is_good and question.url and (why := await cannot_reach(question.url)):
        found += f": {why}"
    return Finding(question.name, is_good, found, mend, round((clock.monotonic() - began) * 1000))
