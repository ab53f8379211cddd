"""`tickyard payout`: the payout agent's process, the only one that ever reads the key."""

import asyncio
import contextlib
import secrets
from pathlib import Path
from random import Random

from tickyard.chain.rpc.client import Rpc
from tickyard.config.settings import Settings, SettingsError
from tickyard.observe.log import log
from tickyard.payout.accepted import AcceptedSnapshots
from tickyard.payout.agent import Agent
from tickyard.payout.halt import Halted
from tickyard.payout.judge import PayoutCaps
from tickyard.payout.keystore import KeystoreRefused, open_keystore
from tickyard.payout.run import run_agent
from tickyard.payout.signer import LocalSigner
from tickyard.processes.stopping import stop_on_signal
from tickyard.store.migrate import is_ready
from tickyard.store.opening import open_store
from tickyard.supervisor import Supervisor
from tickyard.wiring import open_clock
from tickyard.wiring.earn import earn_terms

_DOLLAR = 10**6


async def pay_out(settings: Settings) -> None:
    """Pay reserved claims until a signal says stop."""
    if not settings.has_earn:
        raise SettingsError("there is no reward program: TICKYARD_SERVICE_TOKEN is not set, or TICKYARD_EARN is off")
    halt_file = settings.data_path / "payout.halted"
    if halt_file.exists():
        raise SettingsError(
            "the payout agent has stopped itself before and needs a person: read payout.halted in its data folder, "
            "find out what happened, and remove the file"
        )
    clock = open_clock(settings)
    signer = _signer(settings)
    async with contextlib.AsyncExitStack() as stack:
        rpc = Rpc(settings.rpc_urls, chain_id=settings.chain_id, clock=clock, max_age_s=settings.head_age_max_s)
        stack.push_async_callback(rpc.close)
        store = open_store(settings.store_url, clock)
        stack.push_async_callback(store.close)
        if not await is_ready(store):
            raise SettingsError("the store's schema is missing or older than this code: run `tickyard migrate` first")
        settings.data_path.mkdir(parents=True, exist_ok=True)
        agent = Agent(
            store=store,
            rpc=rpc,
            signer=signer,
            terms=earn_terms(settings),
            caps=_caps(settings),
            accepted=AcceptedSnapshots(settings.data_path / "accepted-snapshots.jsonl"),
            finality=settings.final_after,
            stop_file=settings.data_path / "payout.stop",
        )
        log.info("paying", payer=signer.address, profile=settings.profile)
        await _until_stopped(settings, agent, halt_file)
    log.info("stopped")


async def _until_stopped(settings: Settings, agent: Agent, halt_file: Path) -> None:
    tasks, stop = Supervisor(agent.store.clock, Random()), asyncio.Event()  # noqa: S311  jitter, not secrets
    tasks.on_give_up.append(stop.set)
    stop_on_signal(settings, stop.set)
    tasks.start("payout", lambda: run_agent(agent, secrets.token_hex(8)), fatal=(Halted,))
    await stop.wait()
    await tasks.stop()
    try:
        tasks.check()
    except Halted as halted:
        _leave_word(halt_file, str(halted))
        raise SettingsError(f"the payout agent has stopped and needs a person: {halted}") from None


def _leave_word(halt_file: Path, why: str) -> None:
    """Whoever starts processes again must not start this one."""
    halt_file.write_text(f"{why}\n")


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
