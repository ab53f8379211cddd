"""Deliberate breakages of the protocol, each a few lines of text in a copy of the package."""

import shutil
from dataclasses import dataclass
from pathlib import Path

import tickyard


@dataclass(frozen=True)
class Sabotage:
    name: str
    seed: int
    """Among the worlds from this one on it shows soon."""
    edits: tuple[tuple[str, str, str], ...]
    """File, what stands there, what is put in its place."""

    def apply(self, folder):
        """A copy of the package with the breakage in it. The folder to import it from."""
        # Compiled files come along; those of the edited sources are told from them by their size and time.
        shutil.copytree(Path(tickyard.__file__).parent, folder / "tickyard")
        for file, before, after in self.edits:
            path = folder / "tickyard" / file
            text = path.read_text()
            assert text.count(before) == 1, f"{self.name}: {file} has changed, so must the sabotage"
            path.write_text(text.replace(before, after))
        return folder


SABOTAGES = (
    Sabotage(
        "release on a time-out",
        2,
        (
            (
                "payout/outcome.py",
                "                # The nonce is used but the node does not show by what: it may lag, or forget. Wait.\n",
                "                decided.append((payout, False, final.number))\n",
            ),
            ("payout/agent.py", "[each for each in payouts if each.nonce < chain_nonce]", "payouts"),
        ),
    ),
    Sabotage(
        "release at the first revert",
        4,
        (
            (
                "payout/outcome.py",
                "        if block > final:\n",
                '        if block > final and quantity(receipt.get("status")) != 0:\n',
            ),
        ),
    ),
    Sabotage(
        "drop the unique keys and claim again",
        2,
        (
            (
                "features/earn/store.py",
                "        if found.attempt is not None and found.is_claimed:\n            return found.attempt\n",
                "",
            ),
            ("store/migrations/versions/v0006_earn.py", "live, unique=True)", "live)"),
            ("features/earn/tables.py", "    unique=True,\n", ""),
        ),
    ),
    Sabotage(
        "judge the window twice",
        2,
        (
            (
                "payout/agent.py",
                "                amount = amount_of(claim, sealed, self.terms)\n",
                ("                amount = amount_of(claim, sealed, self.terms)\n"
                "                if now.hour:\n"
                '                    raise Refused("too late")\n'),
            ),
        ),
    ),
    Sabotage(
        "send before storing",
        14,
        (
            (
                "payout/agent.py",
                "        return ledger.Signed(claim.epoch,",
                ('        await self.rpc.batch([("eth_sendRawTransaction", ["0x" + raw.hex()])])\n'
                "        return ledger.Signed(claim.epoch,"),
            ),
        ),
    ),
    Sabotage(
        "new bytes on a retry",
        2,
        (
            (
                "payout/agent.py",
                "            did.sent = await self._sending.send(payouts, chain_nonce)\n",
                ("            import dataclasses\n"
                "            from types import SimpleNamespace\n"
                "            fresh = []\n"
                "            for each in payouts:\n"
                "                claim = SimpleNamespace(epoch=0, address=each.address, attempt=0)\n"
                "                fee = int(self.store.clock.timestamp())\n"
                "                again = await self._signed(claim, each.amount_raw, each.nonce, fee)\n"
                "                fresh.append(dataclasses.replace(each, raw=again.raw))\n"
                "            did.sent = await self._sending.send(fresh, chain_nonce)\n"),
            ),
        ),
    ),
    Sabotage(
        "credit on the facilitator's word",
        2,
        (
            (
                "payments/proof/credit.py",
                "    assert row.settled_at is not None\n    named = ",
                ("    assert row.settled_at is not None\n"
                "    async with store.begin() as tx:\n"
                '        word = f"{row.key.network}/{row.transaction}/0"\n'
                "        await revenue.credit(tx, word, row.amount_raw, row.settled_at, clock.now())\n"
                '        await _mark(tx, row, "credited")\n'
                '    return "credited"\n'
                "    named = "),
            ),
        ),
    ),
    Sabotage(
        "float shares",
        3,
        (
            (
                "features/earn/rules.py",
                "    return pool * balance // total if total else 0\n",
                "    return round(pool * (balance / total)) if total else 0\n",
            ),
        ),
    ),
    Sabotage(
        "forget what is on its way",
        2,
        (
            (
                "features/earn/closing.py",
                "epoch if claim.state in ENDED_UNPAID else None",
                'epoch if claim.state != "confirmed" else None',
            ),
        ),
    ),
    Sabotage(
        "return late failures again and again",
        9,
        (
            (
                "features/earn/pool.py",
                "    found = (await tx.execute(_late())).all()\n    for row in found:\n",
                "    found = (await tx.execute(_late())).all()\n    for row in ():\n",
            ),
        ),
    ),
    Sabotage(
        "take balances of the newest block",
        1,
        (("features/earn/snapshot.py", "-1 if block is None else block.number", "final.number"),),
    ),
    Sabotage(
        "count a settlement in every pool",
        2,
        (("features/earn/pool.py", "    found = (await tx.execute(_uncredited(epoch))).all()\n    if found:\n",
          "    found = (await tx.execute(_uncredited(epoch))).all()\n    if not found:\n"),),
    ),
    Sabotage(
        "take the nonce from the node",
        3,
        (
            (
                "payout/agent.py",
                "        day = starts_at(",
                ('        first = quantity(await self._ask("eth_getTransactionCount", self.signer.address, "latest"))\n'
                "        day = starts_at("),
            ),
        ),
    ),
    Sabotage(
        "reserve at any hour",
        5,
        (
            ("features/earn/store.py", "    if not is_in_window(found.epoch, now):\n", "    if False:\n"),
            (
                "features/earn/operations.py",
                "    if not found.is_claimed and not rules.is_in_window(ask.epoch, now):\n",
                "    if False:\n",
            ),
        ),
    ),
)  # fmt: skip
