"""How much of a large proof a run makes, and with which luck.

TICKYARD_PROVE=full all of it, nothing said a tenth, quick a taste; `make prove`, `make test` and `make quick` say which.
TICKYARD_SEED repeats a run: there is one for the whole of it, and for the processes it is spread over.
"""

import os
from random import SystemRandom

MODE = os.environ.get("TICKYARD_PROVE") or "tenth"
IS_FULL = MODE == "full"
SEED = int(os.environ.setdefault("TICKYARD_SEED", str(SystemRandom().randrange(10**9))))


def count(full: int, *, tenth: int | None = None, quick: int | None = None) -> int:
    """The count of this run; a tenth and a hundredth of the full one unless told otherwise."""
    counts = {"full": full, "tenth": tenth or full // 10, "quick": quick or max(1, full // 100)}
    return counts[MODE]
