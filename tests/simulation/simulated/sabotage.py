"""Deliberate breakages of the protocol, each a few lines of text in a copy of the package."""

from dataclasses import dataclass
from pathlib import Path

import tickyard


@dataclass(frozen=True)
class Sabotage:
    name: str
    seed: int
    """The world that shows it soon; when the house has changed, and with it the luck of its worlds, one after it does."""
    edits: tuple[tuple[str, str, str], ...]
    """File, what stands there, what is put in its place."""
    how: tuple = ()
    """What the worlds are told beside their seed."""
    worlds: int = 40

    def texts(self):
        """The broken text of each file that has one."""
        house, texts = Path(tickyard.__file__).parent, {}
        for file, before, after in self.edits:
            path = str(house / file)
            text = texts.get(path) or Path(path).read_text()
            assert text.count(before) == 1, f"{self.name}: {file} has changed, so must the sabotage"
            texts[path] = text.replace(before, after)
        return texts


QUIET = (2, 0.0)
"""Days, and what goes wrong. Most breakages need nothing else to go wrong."""
MOODS = {
    "tomorrow's revenue in today's pool": (2, {"kill": 0.004}),
    "skip the first day of every pair": (1, 0.0),
    "what failed late is lost": (3, {"freeze": 0.6}),
    "no proof of holders": (2, {"hide": 1.0}),
    "no proof of the supply, nor of holders": (2, {"hide": 1.0}),
    "no parent-hash check": (2, {"reorg": 0.2}),
    "take the snapshot before its block is final": (2, {"reorg": 0.2}),
    "leftovers of an earlier try stay": (2, {"kill": 0.004}),
    "solvency ignoring what is owed": (3, {"fate": 1.0, "fates": ("run_short",)}),
    "close without asking the desk": (3, {"fate": 1.0, "fates": ("restore",)}),
    "release at the first failure": (2, {"flip": 1.0, "freeze": 0.6, "reorg": 0.1}),
    "a reverted batch releases its lines": (2, {"fate": 1.0, "fates": ("change_the_key",), "delay": 0.8}),
    "lines of a lost batch are never sent again": (2, {"fate": 1.0, "fates": ("change_the_key",), "delay": 0.8}),
    "a paused token releases who is paid then": (3, {"fate": 1.0, "fates": ("stop_usdg",)}),
    "who runs dry releases who is paid then": (3, {"fate": 1.0, "fates": ("run_dry",)}),
    "never replace what is stuck": (2, {"drop": 0.6}),
}


def many(name, *edits, seed=2):
    return Sabotage(name, seed, edits, MOODS.get(name, QUIET))


def one(name, file, before, after, seed=2):
    return many(name, (file, before, after), seed=seed)


EARN, PAYOUT = "features/earn", "payout"

SABOTAGES = (
    # --- whose day money belongs to
    one("tomorrow's revenue in today's pool", f"{EARN}/days/pool.py", "tx, epoch), revenue.c.settled_at < opens_at(epoch))",
        "tx, epoch), revenue.c.settled_at.is_not(None))"),
    many("credit before final",
        ("payments/proof/verdict.py", "        if seen.block <= tip.final:", "        if seen.block <= tip.number:"),
        ("payments/proof/reconcile.py", "if row.mined_block is not None and row.mined_block > tip.final", "if False"),
    ),
    one("forget what became known after the sealing", f"{EARN}/days/pool.py", "_uncredited(await _began(tx, epoch), revenue",
        "_uncredited(starts_at(epoch), revenue"),
    many("fix the pool before the day is over",
        (f"{EARN}/days/epochs.py", 'if state == "taken" and now >= opens_at(epoch):', 'if state == "taken":'),
        (f"{EARN}/days/pool.py", "        if now < opens_at(epoch):\n            return False\n", ""),
    ),
    one("the rest is not rolled over", f"{EARN}/days/pool.py", "rollover_raw = await _collect_rest(tx, epoch) + await _collect_late(tx, epoch)",
        "rollover_raw = await _collect_late(tx, epoch)"),
    one("what failed late is lost", f"{EARN}/days/pool.py", "rollover_raw = await _collect_rest(tx, epoch) + await _collect_late(tx, epoch)",
        "rollover_raw = await _collect_rest(tx, epoch)\n        await _collect_late(tx, epoch)"),
    # --- who shares it
    one("threshold plus one", f"{EARN}/days/snapshot.py", "if each.balance >= threshold]", "if each.balance >= threshold + 1]"),
    many("snapshot at 23:00 inclusive",
        ("chain/blocks.py", "        if early.timestamp < moment_s:\n", "        if early.timestamp <= moment_s:\n"),
        ("chain/blocks.py", "        if middle.timestamp < moment_s:\n", "        if middle.timestamp <= moment_s:\n"),
    ),
    one("balances of the newest block", f"{EARN}/days/snapshot.py", "async for page in pages_at(view, -1 if block is None else block.number):",
        "async for page in pages_at(view, final.number):"),
    one("no proof of holders", f"{EARN}/days/snapshot.py", "            await _prove_holders(deps, page, threshold // REACH, final.hash)\n", ""),
    many("no proof of the supply, nor of holders",
        (f"{EARN}/days/snapshot.py", "            await _prove_holders(deps, page, threshold // REACH, final.hash)\n", ""),
        (f"{EARN}/days/snapshot.py", "    if indexed != supply:\n", "    if False:\n"),
    ),
    many("no parent-hash check",
        (f"{EARN}/days/holders.py", "        if mark is not None and chunk.parent_hash != mark[1]:\n            return False\n", ""),
        (f"{EARN}/days/holders.py", "return (await header(self.rpc, mark[0])).hash == mark[1]", "return True"),
        (f"{EARN}/days/epochs.py", "        final = await final_header(deps.rpc, deps.earn.finality)\n        return", "        final = await final_header(deps.rpc, 0)\n        return"),
        (f"{EARN}/days/snapshot.py", "if await newest_mark(view) != (final.number, final.hash):", "if False:"),
        (f"{EARN}/days/snapshot.py", "            await _prove_holders(deps, page, threshold // REACH, final.hash)\n", ""),
        (f"{EARN}/days/snapshot.py", "    if indexed != supply:\n", "    if False:\n"),
    ),
    one("take the snapshot before its block is final", f"{EARN}/days/snapshot.py", "    final = await final_header(deps.rpc, deps.earn.finality)\n    if",
        "    final = await final_header(deps.rpc, 0)\n    if"),
    one("shares rounded up", f"{EARN}/rules.py", "return pool * balance // total if total else 0", "return -(-pool * balance // total) if total else 0"),
    one("shares by half the total", f"{EARN}/rules.py", "return pool * balance // total if total else 0", "return pool * balance // (total // 2) if total else 0"),
    one("leftovers of an earlier try stay", f"{EARN}/days/snapshot.py", "        await _clear(deps.store, epoch, writer)\n", ""),
    one("solvency ignoring what is owed", f"{EARN}/days/opening.py", "if not await _is_solvent(deps, till, row.pool_raw + owed, row.eligible_wallets):",
        "if not await _is_solvent(deps, till, row.pool_raw, row.eligible_wallets):"),
    # --- the window
    many("accept 01:00:00",
        (f"{EARN}/rules.py", "return opens_at(epoch) <= moment < closes_at(epoch)", "return opens_at(epoch) <= moment <= closes_at(epoch)"),
    ),
    one("the window closes a minute early", f"{EARN}/rules.py", "CLOSE: Final = timedelta(hours=25)", "CLOSE: Final = timedelta(hours=24, minutes=59)"),
    many("reserve at any hour",
        (f"{EARN}/claims/store.py", "    if now < opens_at(epoch):\n", "    if False:\n"),
        (f"{EARN}/claims/store.py", "    if not is_in_window(epoch, now):\n", "    if False:\n"),
    ),
    many("believe any signature",
        (f"{EARN}/operations.py", "    if not is_signed_by(ask.address, claim_digests(deps.earn.terms, ask.epoch, ask.address), signature):\n", "    if False:\n"),
        (f"{PAYOUT}/judge.py", "    if not is_signed_by(claim.address, claim_digests(terms, claim.epoch, claim.address), signature):\n", "    if False:\n"),
    ),
    one("close with claims left out", f"{EARN}/days/closing.py", '"returned_to": epoch if claim.state in ENDED_UNPAID else None,',
        '"returned_to": epoch if claim.state != "confirmed" else None,'),
    many("close before the window is over",
        (f"{EARN}/days/closing.py", "        if await store.now(tx) < closes_at(epoch):\n            return False\n", ""),
        (f"{EARN}/days/epochs.py", 'if state in ("sealed", "open", "closing") and now >= closes_at(epoch):', 'if state in ("sealed", "open", "closing"):'),
    ),
    one("close without asking the desk", f"{EARN}/days/closing.py", "    if (known := await _known_raw(store, epoch, desk)) < desk.spent_raw:\n", "    if (known := 0):\n"),
    # --- paying
    one("release at the first failure", f"{PAYOUT}/agent.py", "final = await final_header(self.rpc, self.finality)", "final = await final_header(self.rpc, 0)"),
    one("a reverted batch releases its lines", f"{PAYOUT}/ending.py", '(*mine).values(state="due"))', '(*mine).values(state="failed"))'),
    one("lines of a lost batch are never sent again", f"{PAYOUT}/ending.py", '                again = (await tx.execute(update(earn_line).where(*mine).values(state="due"))).rowcount\n',
        "                again = 0\n"),
    one("a paused token releases who is paid then", f"{EARN}/books/desk.py", "read_uint(_must(allowed))) if is_moving else 0", "read_uint(_must(allowed)))"),
    one("who runs dry releases who is paid then", f"{PAYOUT}/ending.py", "        failed = [event for event in events if event.word == \"failed\"]\n        if not failed:\n", "        failed = []\n        if True:\n"),
    one("pay a base unit less", f"{PAYOUT}/agent.py", "lines.append(ledger.PayoutLine(claim, amount))", "lines.append(ledger.PayoutLine(claim, amount - 1))"),
    one("never replace what is stuck", f"{PAYOUT}/sending.py", "        if not any(now >= self._sent_at.get(nonce, -AGAIN_S) + AGAIN_S for nonce in newest):\n", "        if newest:\n"),
    one("refuse who is paid after the window", f"{PAYOUT}/agent.py", "                    amount = amount_of(claim, books, self.terms)\n",
        "                    amount = amount_of(claim, books, self.terms)\n                    if now.hour:\n                        raise ClaimRefused('too late')\n"),
    one("confirm what was only sent", f"{PAYOUT}/ledger.py", '"attempt": line.claim.attempt, "state": "sent",', '"attempt": line.claim.attempt, "state": "confirmed",'),
    one("read the newest block only", f"{PAYOUT}/ending.py", "first = self.first_block if mark is None else mark[0] + 1", "first = final.number"),
    one("the books of the desk are of yesterday", f"{EARN}/books/digest.py", 'HEADER: Final = b"address,balance,share\\n"', 'HEADER: Final = b"address,balance,shares\\n"'),
    one("tell another amount than is paid", f"{EARN}/operations.py", "amount_usd=money_text(found.payout_raw),", "amount_usd=money_text(found.payout_raw + 1),"),
    one("skip the first day of every pair", f"{EARN}/rules.py", "_DAY: Final = timedelta(days=1)", "_DAY: Final = timedelta(days=2)"),
)  # fmt: skip
