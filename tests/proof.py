"""How much of a large proof a run makes: TICKYARD_PROVE=full all of it, nothing said a tenth, quick a taste.

`from proof import count`; `make prove`, `make test` and `make quick` say which.
"""

import os

MODE = os.environ.get("TICKYARD_PROVE") or "tenth"
IS_FULL = MODE == "full"


def count(full: int, *, tenth: int | None = None, quick: int | None = None) -> int:
    """The count of this run; a tenth and a hundredth of the full one unless told otherwise."""
    counts = {"full": full, "tenth": tenth or full // 10, "quick": quick or max(1, full // 100)}
    return counts[MODE]
