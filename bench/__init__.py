"""What `make bench` runs: ratios between our code and a reference measured in the same minute."""

import os
import sys
from pathlib import Path

# Far ends are shared with the tests, also by the processes that a bench starts.
_TESTS = str(Path(__file__).parents[1] / "tests")
sys.path.append(_TESTS)
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (os.environ.get("PYTHONPATH"), _TESTS)))
