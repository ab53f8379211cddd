"""What others' programs say about the files that are written for them."""

import subprocess
from pathlib import Path

DEPLOY = Path(__file__).parents[1]


def test_caddy_takes_the_caddyfile(program):
    caddy = program("caddy", "caddy")
    command = [caddy, "validate", "--config", str(DEPLOY / "Caddyfile"), "--adapter", "caddyfile"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    formatted = subprocess.run(
        [caddy, "fmt", str(DEPLOY / "Caddyfile")], capture_output=True, text=True, timeout=60, check=False
    )
    assert formatted.stdout == (DEPLOY / "Caddyfile").read_text()


def test_systemd_takes_the_units(program, tmp_path):
    units = []
    for unit in (DEPLOY / "systemd").glob("*.service"):
        path = tmp_path / unit.name.replace("@", "@8402")
        # Whether the program is there is for the machine that runs it.
        path.write_text(unit.read_text().replace("/srv/tickyard/bin/tickyard", "/bin/true"))
        units.append(str(path))
    assert len(units) == 3
    command = [program("systemd-analyze", "systemd"), "verify", "--man=no", *units]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    ours = [line for line in done.stderr.splitlines() if str(tmp_path) in line or "tickyard" in line]
    assert (done.returncode, ours) == (0, []), done.stderr
