"""CPU time of a process, and cores to keep server and client apart."""

import os
import subprocess
from pathlib import Path


def cpu_seconds(pid: int) -> float:
    """User and system time the process has used so far."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return _cpu_seconds_by_ps(pid)
    # The command's name comes second, in parentheses, and may contain blanks.
    fields = stat.rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _cpu_seconds_by_ps(pid: int) -> float:
    run = subprocess.run(["ps", "-o", "cputime=", "-p", str(pid)], capture_output=True, text=True, check=True)
    days, _, clock = run.stdout.strip().rpartition("-")
    seconds = 0.0
    for part in clock.split(":"):
        seconds = seconds * 60 + float(part)
    return seconds + 86400 * int(days or 0)


def cores() -> tuple[int, int] | None:
    """One core for servers and another for the client; None where we cannot choose."""
    if not hasattr(os, "sched_getaffinity"):
        return None
    usable = sorted(os.sched_getaffinity(0))
    return (usable[0], usable[-1]) if len(usable) > 1 else None


def pin(pid: int, core: int | None) -> None:
    if core is not None and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(pid, {core})
