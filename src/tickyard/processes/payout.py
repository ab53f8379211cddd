"""`tickyard payout`: the payout agent's process, the only one that reads the key, and what a person does for it."""

import asyncio
import contextlib
import json
import secrets
import sys
from pathlib import Path
from random import Random

from tickyard.chain.address import checksum
from tickyard.chain.rpc.client import Rpc
from tickyard.config.settings import Settings, SettingsError
from tickyard.config.wallet import problem_with
from tickyard.kernel.ids import Address
from tickyard.observe.log import log
from tickyard.observe.metrics import serve_metrics
from tickyard.payout.accepted import AcceptedBooks
from tickyard.payout.agent import Agent
from tickyard.payout.deploy import deployment, inspect
from tickyard.payout.halt import lift
from tickyard.payout.judge import PayoutCaps
from tickyard.payout.run import run_agent
from tickyard.payout.signing.keystore import KeystoreRefused, open_keystore
from tickyard.payout.signing.signer import LocalSigner
from tickyard.processes.folder import ready_folder
from tickyard.processes.stopping import stop_on_signal
from tickyard.supervisor import Supervisor
from tickyard.wiring import open_clock
from tickyard.wiring.earn import desk_of, earn_terms
from tickyard.wiring.store import ready_store

_DOLLAR = 10**6
_FINAL_EVERY_S = 10.0
"""With minutes to finality nobody needs to look more often."""


async def pay_out(settings: Settings) -> None:
    """Pay reserved claims until a signal says stop."""
    if not settings.has_earn:
        raise SettingsError(
            "there is no reward program: TICKYARD_SERVICE_TOKEN or TICKYARD_PAYOUT_DESK is not set, or TICKYARD_EARN "
            "is off"
        )
    signer = _signer(settings)
    async with contextlib.AsyncExitStack() as stack:
        clock = open_clock(settings)
        rpc = Rpc(settings.rpc_urls, chain_id=settings.chain_id, clock=clock, max_age_s=settings.head_age_max_s)
        stack.push_async_callback(rpc.close)
        store = await stack.enter_async_context(ready_store(settings, clock))
        found = await inspect(rpc, desk_of(settings), settings.contracts.usdg, settings.payout_desk_first_block)
        if found.problems:
            raise SettingsError(f"TICKYARD_PAYOUT_DESK: {'; '.join(found.problems)}")
        if found.payer != signer.address:
            log.warning("the desk names another payer than this key: nothing can be paid until its owner changes that")
        ready_folder(settings)
        agent = Agent(
            store=store,
            rpc=rpc,
            signer=signer,
            terms=earn_terms(settings),
            desk=desk_of(settings),
            multicall=settings.contracts.multicall3,
            caps=_caps(settings),
            accepted=AcceptedBooks(settings.data_path / "accepted-books.jsonl", desk_of(settings)),
            finality=settings.final_after,
            first_block=settings.payout_desk_first_block,
            stop_file=settings.data_path / "payout.stop",
            final_every_s=_FINAL_EVERY_S if settings.final_after == "finalized" else 1.0,
        )
        _show_metrics(settings, stack)
        log.info("paying", payer=signer.address, profile=settings.profile)
        await _until_stopped(settings, agent)
    log.info("stopped")


async def _until_stopped(settings: Settings, agent: Agent) -> None:
    tasks, stop = Supervisor(agent.store.clock, Random()), asyncio.Event()  # noqa: S311  jitter, not secrets
    tasks.on_give_up.append(stop.set)
    stop_on_signal(settings, stop.set)
    tasks.start("payout", lambda: run_agent(agent, secrets.token_hex(8)))
    await stop.wait()
    await tasks.stop()
    tasks.check()


def _show_metrics(settings: Settings, stack: contextlib.AsyncExitStack) -> None:
    """On a port of the agent's own. Without one it pays all the same, and says so."""
    port = settings.worker_metrics_port % 65535 + 1
    try:
        server, _thread = serve_metrics(port, settings.metrics_host)
    except OSError:
        log.warning("the payout agent's metrics cannot be shown: its port is taken", port=port)
        return
    stack.callback(server.server_close)
    stack.callback(server.shutdown)


async def deploy(settings: Settings, owner: str, payer: str) -> int:
    """Print the unsigned deployment of a desk, or check the one that the settings name."""
    if owner or payer:
        for name, text in (("--owner", owner), ("--payer", payer)):
            # The owner of a desk is never changed: a typo in it could not be mended.
            if (problem := problem_with(text)) is not None:
                raise SettingsError(f"{name} {problem}")
        made = deployment(settings.contracts.usdg, Address(owner.lower()), Address(payer.lower()), settings.chain_id)
        print(json.dumps(made, indent=2))
        print("sign and send this from any account; then set TICKYARD_PAYOUT_DESK to the address it made, and let the "
              "payer approve it for USDG", file=sys.stderr)  # fmt: skip
        return 0
    if not settings.payout_desk:
        raise SettingsError("give --owner and --payer for a new desk, or set TICKYARD_PAYOUT_DESK to check one")
    rpc = Rpc(settings.rpc_urls, chain_id=settings.chain_id, clock=open_clock(settings))
    try:
        found = await inspect(rpc, desk_of(settings), settings.contracts.usdg, settings.payout_desk_first_block)
    finally:
        await rpc.close()
    for problem in found.problems:
        print(f"{settings.payout_desk}: {problem}", file=sys.stderr)
    if found.problems or found.payer is None or found.owner is None:
        return 1
    print(f"{settings.payout_desk} is the desk, byte for byte; payer {checksum(found.payer)}, "
          f"owner {checksum(found.owner)}")  # fmt: skip
    return 0


async def resume(settings: Settings) -> int:
    """Lift a halt, after a person has looked."""
    async with ready_store(settings, open_clock(settings)) as store:
        reason = await lift(store)
    print("payouts were not halted" if reason is None else f"lifted: {reason}")
    return 0


def _caps(settings: Settings) -> PayoutCaps:
    return PayoutCaps(
        settings.payout_max_per_claim_usd * _DOLLAR,
        settings.payout_max_per_epoch_usd * _DOLLAR,
        settings.payout_max_per_day_usd * _DOLLAR,
    )


def _signer(settings: Settings) -> LocalSigner:
    if not settings.payout_keystore or not settings.payout_password_file:
        raise SettingsError(
            "TICKYARD_PAYOUT_KEYSTORE and TICKYARD_PAYOUT_PASSWORD_FILE are not set: the agent has no key"
        )
    try:
        return open_keystore(Path(settings.payout_keystore), Path(settings.payout_password_file))
    except KeystoreRefused as refused:
        raise SettingsError(str(refused)) from None
