"""What an operator types: settings that are right, and commands run with them as somebody at a shell would."""

import os
import subprocess
import sys

from yards.patience import STUCK_S

NOWHERE = "http://127.0.0.1:1"
"""Right in form, and nobody is there."""
GOOD = {
    "RPC_URLS": NOWHERE,
    "RPC_URLS_8453": NOWHERE,
    "PAY_TO": "0x" + "7a" * 20,
    "FACILITATOR_4663": NOWHERE,
    "FACILITATOR_8453": NOWHERE,
    "FILINGS_CONTACT": "me@node.test",
    "SECRET_KEY_FILE": "keys",
    "ISSUER_URL": NOWHERE,
    "FILINGS_FILES_URL": NOWHERE,
}


def run(folder, *words, before=":", **settings):
    """One command, with these settings and no other. `before`: what the shell does first."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith("TICKYARD_")}
    environ |= {f"TICKYARD_{name}": str(value) for name, value in settings.items()}
    return subprocess.run(
        ["/bin/sh", "-c", f'{before}; exec "$@"', "sh", sys.executable, "-m", "tickyard", *words],
        cwd=folder,
        env=environ,
        capture_output=True,
        text=True,
        timeout=STUCK_S,
    )
