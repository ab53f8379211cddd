"""Prometheus's own tool reads our rules, lets them live through recorded series, and reads the dashboard's queries."""

import json
import subprocess
from pathlib import Path

DEPLOY = Path(__file__).parents[1]


def run(*command, cwd=DEPLOY / "prometheus"):
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=60, check=False)


def test_every_alarm_rings_when_it_must_and_only_then(program):
    promtool = program("promtool", "prometheus")
    for command in (
        ["check", "config", "prometheus.yaml"],
        ["check", "rules", "alerts.yaml"],
        ["test", "rules", "alerts.test.yaml"],
    ):
        done = run(promtool, *command)
        assert done.returncode == 0, done.stdout + done.stderr


def test_an_alarm_that_never_rings_would_be_found(program, tmp_path):
    promtool = program("promtool", "prometheus")
    deaf = (DEPLOY / "prometheus/alerts.yaml").read_text().replace("> 0.05", "> 5")
    (tmp_path / "alerts.yaml").write_text(deaf)
    (tmp_path / "alerts.test.yaml").write_text((DEPLOY / "prometheus/alerts.test.yaml").read_text())
    assert run(promtool, "test", "rules", "alerts.test.yaml", cwd=tmp_path).returncode != 0


def test_the_dashboards_queries_are_queries(program, tmp_path):
    promtool = program("promtool", "prometheus")
    panels = json.loads((DEPLOY / "grafana/tickyard.json").read_text())["panels"]
    rules = [
        {
            "record": f"panel:{panel['id']}:{target['refId'].lower()}",
            "expr": target["expr"].replace("$__rate_interval", "5m"),
        }
        for panel in panels
        for target in panel["targets"]
    ]
    (tmp_path / "panels.yaml").write_text(json.dumps({"groups": [{"name": "panels", "rules": rules}]}))
    done = run(promtool, "check", "rules", "panels.yaml", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
