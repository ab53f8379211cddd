"""A process that gives birth to `tickyard` processes. Run as a script; it reads one JSON object per line.

Importing takes longer than many a life here, so this process stays, with everything imported, and forks: a child runs the
real command line, or the sampler below. It tells the pid of each birth, each end, and what samplers were acknowledged.
"""

import json
import os
import select
import sys

# Imported for the children: each would pay for it again.
import tickyard.processes.api
import tickyard.processes.doctor
import tickyard.processes.payout
import tickyard.processes.store
import tickyard.processes.worker  # noqa: F401
from tickyard import cli


def say(**words: object) -> None:
    """One whole line at once: children say their own on the same pipe."""
    os.write(1, (json.dumps(words) + "\n").encode())


def live(order: dict) -> None:
    out = os.dup(1)
    log = os.open(order["log"], os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600)
    os.dup2(log, 1)
    os.dup2(log, 2)
    sys.stdin = open(os.devnull)  # noqa: SIM115  it ends with the process
    os.environ.update(order["environ"])
    if order["arguments"][0] == "sample":
        import asyncio
        from datetime import datetime

        import writer

        writer.say = lambda text: os.write(out, (json.dumps({"said": text}) + "\n").encode())
        asyncio.run(writer.write(order["store"], order["slot"], since=datetime.fromisoformat(order["since"])))
    sys.argv = ["tickyard", *order["arguments"]]
    cli.main()


def main() -> None:
    born: set[int] = set()
    rest = b""
    say(ready=True)
    while True:
        if select.select([0], [], [], 0.02)[0]:
            more = os.read(0, 65536)
            if not more:
                return
            *lines, rest = (rest + more).split(b"\n")
            for order in map(json.loads, lines):
                pid = os.fork()
                if pid == 0:
                    status = 1
                    try:
                        live(order)
                        status = 0
                    except SystemExit as left:
                        status = left.code if isinstance(left.code, int) else 1
                    finally:
                        os._exit(status)
                born.add(pid)
                say(born=pid, name=order["name"])
        while born:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                break
            born.discard(pid)
            say(dead=pid, status=os.waitstatus_to_exitcode(status))


if __name__ == "__main__":
    main()
