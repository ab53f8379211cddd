"""Secrets never appear in a log, a metric or an error: everything the suite's processes say is searched for them.

What is searched: the log records of this process and its metrics, what tests print, and of every sandbox and process
that `yards/running.py` starts the logs, the metrics and the error answers. What for: the secrets that tests have met
(`secret`), and whatever has the shape of one. It runs by itself, and fails the session at its end.
"""

import logging
import re
from dataclasses import dataclass, field

import pytest
from prometheus_client import generate_latest

from tickyard.observe.log import _JsonLines
from tickyard.observe.metrics import REGISTRY
from tickyard.sandbox.world.holders import payout_wallet
from tickyard.sandbox.world.wallets import relayer, wallets

SHAPES = {
    "a signature": re.compile(r"(?<![0-9a-fA-F])[0-9a-fA-F]{130}(?![0-9a-fA-F])"),
    "a payment header": re.compile(r"eyJ(?:4NDAyVmVyc2lvb|wYXlsb2Fk|zY2hlbW)[A-Za-z0-9+/_-]{20,}"),
    "a webhook signing key": re.compile(r"whsec_[A-Za-z0-9+/]{20,}"),
    # Long enough that no word of ours matches by accident, and mixed as only random text is.
    "an alert secret": re.compile(
        r"(?<![\w/+.-])(?=[\w-]*[0-9])(?=[\w-]*[a-z])(?=[\w-]*[A-Z])[A-Za-z0-9_-]{43}(?![\w/+=.-])"
    ),
    "a password in an address": re.compile(r"://[^/@\s\"'*]+:[^/@\s\"'*]+@"),
}
SHORTEST = 12


@dataclass
class Watch:
    secrets: dict[str, str] = field(default_factory=dict)
    """What it is, by its text."""
    said: list[tuple[str, str]] = field(default_factory=list)
    """Who said it, and what."""

    def secret(self, what: str, text: str | None) -> None:
        """Something that nobody may say from now on, or may have said before."""
        if text and len(text.strip()) >= SHORTEST:
            self.secrets[text.strip()] = what

    def output(self, whose: str, text: str) -> None:
        if text:
            self.said.append((whose, text))

    def found(self) -> list[str]:
        """Sentences about what leaked where, without the secrets themselves."""
        leaks = {
            f"{what} in {whose}" for whose, text in self.said for what, shape in SHAPES.items() if shape.search(text)
        }
        # Looked for by their beginnings: thousands of alerts may have been made.
        begins: dict[str, list[str]] = {}
        for secret in self.secrets:
            begins.setdefault(secret[:SHORTEST], []).append(secret)
        leaks |= {f"{self.secrets[hit]} in {whose}" for whose, text in self.said for hit in _met(text, begins)}
        return sorted(leaks)


def _met(text: str, begins: dict[str, list[str]]) -> set[str]:
    places = (at for at in range(len(text)) if text[at : at + SHORTEST] in begins)
    return {secret for at in places for secret in begins[text[at : at + SHORTEST]] if text.startswith(secret, at)}


class _Records(logging.Handler):
    def __init__(self, watch: Watch) -> None:
        super().__init__()
        self.setFormatter(_JsonLines())
        self._watch = watch

    def emit(self, record: logging.LogRecord) -> None:
        self._watch.output("the log of the tests' own process", self.format(record))


class Canary:
    """The plugin. `watch` is for those who start processes."""

    def __init__(self) -> None:
        self.watch = Watch()
        self.leaks: list[str] = []
        for wallet in (*wallets(), relayer(4663), relayer(8453), payout_wallet()):
            self.watch.secret(f"the private key of {wallet.name}", wallet.private_key.removeprefix("0x"))

    def pytest_sessionstart(self) -> None:
        logging.getLogger().addHandler(_Records(self.watch))
        logging.getLogger("tickyard").setLevel(logging.INFO)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        for title, text in report.sections:
            self.watch.output(f"{title} of {report.nodeid}", text)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        self.watch.output("the metrics of the tests' own process", generate_latest(REGISTRY).decode())
        self.leaks = self.watch.found()
        if self.leaks and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self.leaks:
            terminalreporter.section("secrets in the output", red=True)
            for leak in self.leaks:
                terminalreporter.line(leak)
