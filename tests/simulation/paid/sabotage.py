"""Deliberate breakages of the payment layer and its client, each a few words in a copy of the package."""

from simulated.sabotage import Sabotage

LEDGER, SQL, CASHIER = "payments/books/ledger.py", "payments/books/statements.py", "payments/selling/cashier.py"
STANDING, CHAIN, VERDICT = "payments/selling/standing.py", "payments/proof/chain.py", "payments/proof/verdict.py"
ROUND, BOOKING, SETTLEMENT = (
    "payments/proof/reconcile.py",
    "payments/proof/booking.py",
    "payments/selling/settlement.py",
)
PICKUP, ASKED = "payments/selling/pickup.py", "payments/proof/transactions.py"
PAYER, KEPT, REASONS = "client/payer.py", "client/kept.py", "payments/facilitators/reasons.py"


FAULTS = {
    "a failed transaction is believed": {"lost_during": 0.8, "lag": 1.0},
    "no reason is a reason": {"silent_no": 0.8, "lag": 1.0},
    "silence is a refusal": {"lost_after": 0.6, "lag": 0.9, "lost_request": 0.3},
    "failed payments are closed before their time": {"lying_no": 0.7, "lag": 0.5},
    "a payment in doubt is settled again by itself": {"lost_before": 0.5},
    "the client forgets what got no answer": {"lost_during": 0.8, "lag": 1.0},
    "the client takes a payment for over too soon": {"lying_no": 0.7, "lying_verify": 0.5},
    "an equal transfer is proof enough": {"mischief": 1.0, "lost_before": 0.8},
    "a reverted transaction is a refusal": {"twice": 1.0, "lag": 0.9},
    "a signature opens nothing while a payment is in doubt": {"lost_during": 0.9, "lag": 1.0, "lost_request": 0.4},
    "a nonce crossed out beside a transfer is paid": {"mischief": 1.0, "lost_before": 0.8},
    "money is asked for after a long pause": {"pause": 0.7},
    "a nonce that nobody explains is refused": {"lying_no": 0.9, "lag": 1.0},
}
"""Where luck would take long to show it: what goes wrong in its worlds."""


def broken(name, *edits, seed=1):
    return Sabotage(name, seed, edits, (FAULTS[name],) if name in FAULTS else ())


SABOTAGES = (
    broken(
        "a reverted transaction is a refusal",
        (
            SETTLEMENT,
            "row.settles == 1 and outcome.has_sent_nothing",
            "row.settles == 1 and (outcome.has_sent_nothing or outcome.transaction)",
        ),
    ),
    broken("a signature opens nothing while a payment is in doubt", (PICKUP, "raise outcome_unknown()", "return None")),
    # Paid answers without paying.
    broken(
        "payer and nonce open the answer",
        (
            STANDING,
            "    if not _has_signed(bearer, row.digest, row.signature):\n        return False\n    return",
            "    return True or",
        ),
    ),
    broken(
        "the bytes of the chain open the answer",
        (
            STANDING,
            "    return is_early or shows_more(bearer, row.client, row.identifier)",
            "    return True",
        ),
    ),
    broken(
        "everybody came early",
        (CASHIER, "is_early = is_early or row is None or not row.may_be_public", "is_early = True"),
    ),
    broken(
        "any name opens the answer",
        (
            STANDING,
            "bearer.identifier is not None and bearer.identifier == identifier",
            "bearer.identifier is not None",
        ),
    ),
    broken(
        "any address opens the answer",
        (STANDING, "if bearer.client is not None and bearer.client == client:", "if client:"),
    ),
    broken(
        "anybody may join a sale under way",
        (CASHIER, "if flight.is_public and not is_same_caller", "if False and not shows_more"),
        seed=7,
    ),
    broken(
        "a stranger is served",
        (
            CASHIER,
            "        raise NotSettled(NONCE_USED[order.payment.entry.method], order.payment.key)",
            '        return Sale(reply, "0x")',
        ),
    ),
    # Charged twice after a lost reply.
    broken(
        "a failed transaction is believed",
        (REASONS, '        "unsupported_scheme",', '        "unsupported_scheme",\n        "transaction_failed",'),
    ),
    broken(
        "no reason is a reason",
        (REASONS, '        "unsupported_scheme",', '        "unsupported_scheme",\n        "payment_refused",'),
    ),
    broken(
        "silence is a refusal",
        (
            SETTLEMENT,
            "        return await self._ledger.doubt(row)",
            '        return await self._ledger.refuse(row, "no")',
        ),
    ),
    broken(
        "failed payments are not watched",
        (
            LEDGER,
            '"reason": reason, "look_at": self._next_look(0), "looks": 0}',
            '"reason": reason, "look_at": None, "looks": 0}',
        ),
    ),
    broken(
        "what was called failed stays failed", (SQL, '("settling", "unknown", "failed"))', '("settling", "unknown"))')
    ),
    broken(
        "failed payments are closed before their time",
        (VERDICT, "is_closed = final_s > row.valid_before", "is_closed = True"),
    ),
    broken(
        "a payment in doubt is settled again by itself",
        (
            CASHIER,
            '        if row.state != "settled":\n',
            '        if row.state != "settled":\n            asyncio.get_running_loop().call_later(60, lambda: asyncio.ensure_future(self._settlement.reconcile(row, self._holder(), is_seen=False)))\n',
        ),
    ),
    broken(
        "money is asked for after a long pause",
        (SETTLEMENT, "        if not self._ledger.is_in_time(row):\n", "        if False:\n"),
    ),
    broken(
        "a nonce that nobody explains is refused",
        (SETTLEMENT, '        if row.state == "failed" and not is_sure(row, seen[0]):\n', "        if False:\n"),
        seed=12,
    ),
    # The client pays twice.
    broken(
        "the client signs anew after a refusal",
        (
            PAYER,
            "if status == 402 and self._service_time(headers) >= signed.until + _OVER_AFTER_S:",
            "if status == 402:",
        ),
    ),
    broken(
        "the client forgets what got no answer",
        (
            PAYER,
            "        if not 400 <= status < 500 or status in _SAYS_NOTHING:\n            return False\n",
            "        if not 400 <= status < 500 or status in _SAYS_NOTHING:\n            self._kept.forget(signed)\n            return False\n",
        ),
    ),
    broken(
        "the client forgets when it is restarted",
        (
            KEPT,
            "                    _write(self._file, after)\n",
            "                    pass\n",
        ),
    ),
    broken(
        "the client takes a payment for over too soon",
        (PAYER, "_OVER_AFTER_S: Final = 60", "_OVER_AFTER_S: Final = -290"),
    ),
    # Foreign transfers, and the books.
    broken(
        "an equal transfer is proof enough",
        (
            CHAIN,
            "            if states[2 * n] is False and states[2 * n + 1] is True\n",
            "            if states is not None\n",
        ),
        (ASKED, "!= row.key.asset", '!= ""'),
    ),
    broken(
        "a nonce crossed out beside a transfer is paid",
        (CHAIN, "if not any(is_cancelled_by(each, pinned.MAINNET.permit2, row.key) for each in here):", "if here:"),
        (
            CHAIN,
            "            if any(is_cancelled_by(each, pinned.MAINNET.permit2, row.key) for each in here):\n",
            "            if not row:\n",
        ),
        (ASKED, "!= row.key.asset", '!= ""'),
    ),
    broken(
        "a payment is counted before it is final",
        (VERDICT, "        if seen.block <= tip.final:", "        if seen.block <= tip.number:"),
        (ROUND, "if row.mined_block is not None and row.mined_block > tip.final", "if False"),
    ),
    broken(
        "the facilitator's word is money",
        (
            ROUND,
            '    if verdict.act == "credit":\n',
            '    if row.state == "settled" and row.transaction:\n        from tickyard.payments.proof.transfer import PaidTransfer\n        await credit(ledger, row, (PaidTransfer(row.transaction, 0, 0, ""),))\n        return "credited"\n    if verdict.act == "credit":\n',
        ),
    ),
    broken(
        "a look that finds nothing is the last",
        (LEDGER, '{"look_at": self._next_look(looks), "looks": looks}', '{"look_at": None, "looks": looks}'),
    ),
    broken(
        "a cent too much is counted",
        (BOOKING, "settlement, row.amount_raw, row.settled_at", "settlement, row.amount_raw + 1, row.settled_at"),
    ),
    broken(
        "money is counted for the day before",
        (BOOKING, "row.amount_raw, row.settled_at, ledger", "row.amount_raw, row.begun_at.replace(hour=0), ledger"),
    ),
    broken(
        "the chain is read from too late on",
        (CHAIN, "_CLOCK_SKEW_S: Final = 120", "_CLOCK_SKEW_S: Final = -200"),
        (CHAIN, "_CLOCK_SKEW_MAX_S: Final = 86_400", "_CLOCK_SKEW_MAX_S: Final = -200"),
    ),
    broken(
        "answers are thrown away",
        (LEDGER, "KEEP_ANSWERS: Final = timedelta(hours=24)", "KEEP_ANSWERS: Final = timedelta(minutes=3)"),
    ),
)
