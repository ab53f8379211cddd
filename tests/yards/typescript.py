"""The TypeScript client, compiled, and Node to run it."""

import os
import subprocess
from pathlib import Path

from yards.patience import STUCK_S

ROOT = Path(__file__).parents[2]
CLIENT = ROOT / "clients" / "typescript"


def compile_client():
    done = subprocess.run(
        [ROOT / "node_modules" / ".bin" / "tsc", "-p", CLIENT],
        capture_output=True,
        text=True,
        timeout=STUCK_S,
        check=False,
    )
    assert done.returncode == 0, done.stdout


def run_node(*arguments, text=None, **environ):
    """What it said; fails when it fails."""
    done = subprocess.run(
        ["node", *map(str, arguments)],
        cwd=CLIENT,
        env={**os.environ, **environ},
        input=text,
        capture_output=True,
        text=True,
        timeout=STUCK_S,
        check=False,
    )
    assert done.returncode == 0, f"{text or ''}\n{done.stdout[-6000:]}\n{done.stderr[-2000:]}"
    return done.stdout
