"""Questions to what is on this machine, or ours: the store, key files, the data folder."""

import contextlib
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator
from functools import partial
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import msgspec

from tickyard.config.settings import Settings, SettingsError
from tickyard.features.alerts.pinned_keys import other_keys, without_key
from tickyard.features.alerts.secret import AlertKeys
from tickyard.kernel.clock import Clock
from tickyard.kernel.errors import Failure
from tickyard.kernel.files import is_open_to_others, read_named
from tickyard.kernel.ids import Address, is_address
from tickyard.market.listing.kept import ListingBook
from tickyard.processes.doctor.chains import NODES_FIRST, payout_account, payout_desk, service_token
from tickyard.processes.doctor.finding import Bad, Examination
from tickyard.sources.issuer.api import Listing
from tickyard.store.engine import Store, StoreRefused
from tickyard.store.leases import try_write
from tickyard.store.migrate import is_known, is_ready, schema_version
from tickyard.store.opening import file_of, open_store
from tickyard.store.postgres.rights import standing
from tickyard.wiring.payments import receipt_key

_ROOM_MIN: Final = 1024**3
_STORE_OFF_MAX_S: Final = 5
_NAMED_MOST: Final = 6
_NOBODYS: Final = frozenset({"example", "invalid"})


def questions(settings: Settings, clock: Clock) -> Iterator[Examination]:
    yield Examination("data folder", partial(_folder, settings), "make it, and let the service's account own it")
    yield Examination(
        "database", partial(_database, settings, clock), "look at TICKYARD_DATABASE_URL and at the database"
    )
    if settings.history_start_at > clock.now():
        yield Examination("history", partial(_not_begun, settings), "set TICKYARD_HISTORY_START")
    if not settings.is_sandbox:
        yield Examination("names", partial(_names, settings), "fill in the settings")
    yield Examination("proxies", partial(_proxies, settings), "set TICKYARD_TRUSTED_PROXIES")
    if settings.secret_key_file:
        yield Examination(
            "alert keys", partial(_alert_keys, settings, clock), "`tickyard keys new alert FILE` makes a file"
        )
    if settings.receipt_key_file:
        mend = "`tickyard keys new receipt FILE` makes one"
        yield Examination("receipt key", partial(_receipt_key, settings), mend)
    if settings.earn and bool(settings.service_token) != bool(settings.payout_desk):
        yield Examination("reward program", partial(_half_a_program, settings), "set both, or neither")
    if settings.has_earn:
        yield Examination("service token", partial(service_token, settings, clock), NODES_FIRST)
    if settings.has_earn and settings.payout_desk:
        yield Examination("payout desk", partial(payout_desk, settings, clock), NODES_FIRST)
    if settings.payout_keystore:
        yield Examination("payout account", partial(_payout, settings, clock), "look at TICKYARD_PAYOUT_KEYSTORE")


async def _names(settings: Settings) -> str:
    """What callers, researchers and the filings database are told of us. The sample's own names belong to nobody."""
    given = {
        "BASE_URL": urlsplit(settings.base_url).hostname or "",
        "FILINGS_CONTACT": settings.filings_contact.rpartition("@")[2],
        "SECURITY_CONTACT": settings.security_contact.rpartition("@")[2],
    }
    for name, host in given.items():
        if host.rpartition(".")[2].strip("/") in _NOBODYS:
            raise Bad(
                f"TICKYARD_{name} names {host}, which belongs to nobody", f"set TICKYARD_{name} to one of your own"
            )
    return ", ".join(sorted(set(given.values())))


async def _proxies(settings: Settings) -> str:
    if settings.trusted_proxies:
        return f"callers are told apart by what {', '.join(settings.trusted_proxies)} says of them"
    if settings.base_url.startswith("https://"):
        # The service itself speaks plain HTTP: somebody stands before it.
        found = "callers come through a proxy, and none is trusted: to us they are all one, with one limit for all"
        raise Bad(found, "set TICKYARD_TRUSTED_PROXIES to the proxy's address as this machine sees it")
    return "none: callers are told apart by their own addresses"


async def _folder(settings: Settings) -> str:
    folder = settings.data_path.absolute()
    if folder.exists() and not folder.is_dir():
        raise Bad(f"{folder} is no folder", "name a folder in TICKYARD_DATA_DIR")
    if not folder.is_dir():
        raise Bad(f"{folder} is not there", f"mkdir -p -m 0700 {folder}")
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise Bad(f"nothing can be written to {folder}: {error.strerror}", "let this account own it") from None
    free = shutil.disk_usage(folder).free
    if free < _ROOM_MIN:
        raise Bad(f"{free // 2**20} MiB are left at {folder}", "make room: a full disk stops samples and alerts")
    return f"{folder}, {free // 2**30} GiB free"


async def _not_begun(settings: Settings) -> str:
    raise Bad(
        f"no sample is written before {settings.history_start}, which is yet to come",
        "set TICKYARD_HISTORY_START to a time that has passed, or leave it out",
    )


async def _database(settings: Settings, clock: Clock) -> str:
    file = file_of(settings.store_url)
    where = "PostgreSQL" if file is None else "SQLite"
    if file is not None and not _is_there(file):
        raise Bad(f"there is no store at {file}", "run `tickyard migrate`")
    store = open_store(settings.store_url, clock)
    try:
        version = await schema_version(store)
        ready = await is_ready(store)
        async with store.read() as tx:
            off = round((await store.now(tx) - clock.now()).total_seconds())
        if ready:
            await try_write(store)
        whose = await _account(settings, store, version) if ready and file is None else ""
    finally:
        await store.close()
    if version is None:
        raise Bad(f"{where} answers, but it is empty", "run `tickyard migrate`")
    if not ready:
        raise Bad(f"the schema is at {version}, older than this code", "run `tickyard migrate`")
    if abs(off) > _STORE_OFF_MAX_S:
        raise Bad(f"the database's clock is {off} s off ours", "let chrony or systemd-timesyncd set both")
    return f"{where}, schema {version}{whose}"


async def _account(settings: Settings, store: Store, version: str | None) -> str:
    """As whom we are there. Serving and working find out what an account may not do only when they do it."""
    if version is None or not is_known(version):
        return ""
    async with store.read() as tx:
        its = await tx.run_sync(partial(standing, is_agent=bool(settings.payout_keystore)))
    name, roles = f"the database account {its.account!r}", ", ".join(its.roles)
    if its.is_agents_alone and not settings.payout_keystore:
        raise Bad(
            f"{name} is the payout agent's, and these are not its settings (TICKYARD_PAYOUT_KEYSTORE)",
            "name the account of this process in TICKYARD_DATABASE_URL",
        )
    if its.lacking:
        rights = "; ".join(f"{word} on {_some(tables)}" for word, tables in its.lacking.items())
        mend = "`tickyard migrate` with the account that owns the tables"
        if not its.roles:
            mend = f"give it one of the roles (tickyard_api, tickyard_worker, tickyard_payout), then {mend}"
        raise Bad(f"{name}{roles and f' ({roles})'} lacks {rights}", mend)
    return roles and f", as {roles}"


def _some(names: list[str]) -> str:
    return ", ".join(names[:_NAMED_MOST]) + (f" and {len(names) - _NAMED_MOST} more" if names[_NAMED_MOST:] else "")


async def _alert_keys(settings: Settings, clock: Clock) -> str:
    path = Path(settings.secret_key_file)
    text, mode = _read(path, f"`tickyard keys new alert {path}` makes one")
    try:
        keys = AlertKeys.read(text)
    except ValueError as error:
        raise Bad(str(error), "restore the file from its backup: alerts made under a lost key are lost") from None
    if mode & 0o007:
        raise Bad(f"{path} can be read by everybody", f"chmod 0600 {path}")
    # A store that does not answer has a line of its own.
    with contextlib.suppress(Failure, StoreRefused):
        await _compare_keys(settings, clock, keys)
    return f"{path}, newest version {keys.version}"


def _is_there(file: Path) -> bool:
    """One that this account may not see is no missing one: nobody is told to make another."""
    try:
        return file.exists()
    except OSError as error:
        mend = "let this account own it and its folder: as root, commands make files that are root's"
        raise Bad(f"the store's file {file} cannot be opened: {error.strerror}", mend) from None


@contextlib.asynccontextmanager
async def _opened(settings: Settings, clock: Clock) -> AsyncIterator[Store | None]:
    """The store, where there is one of this version."""
    file = file_of(settings.store_url)
    if file is not None and not _is_there(file):
        yield None
        return
    store = open_store(settings.store_url, clock)
    try:
        yield store if await is_ready(store) else None
    finally:
        await store.close()


async def check_list(settings: Settings, clock: Clock, listing: Listing) -> None:
    """Raise ListingRefused where the service would, as far as the store knows."""
    # A store that does not answer has a line of its own.
    with contextlib.suppress(Bad, Failure, StoreRefused):
        async with _opened(settings, clock) as store:
            if store is not None:
                await ListingBook(store).check(listing)


async def _compare_keys(settings: Settings, clock: Clock, keys: AlertKeys) -> None:
    async with _opened(settings, clock) as store:
        if store is None:
            return
        async with store.read() as tx:
            others, lacking = await other_keys(tx, keys), await without_key(tx, keys)
    if others:
        found = f"version {others[0]} is another key than the one that the store's alerts were made under"
        mend = "put the right file there; if that key is lost, give the new one a higher number than any before"
        raise Bad(found, mend)
    if lacking:
        version, count = min(lacking.items())
        found = f"{count} active alerts were made under version {version}, which is not in the file"
        raise Bad(found, "put its line back; if the key has leaked, wait: they end within 30 days")


async def _receipt_key(settings: Settings) -> str:
    path = Path(settings.receipt_key_file)
    try:
        receipt_key(settings)
    except SettingsError as wrong:
        raise Bad(str(wrong), f"`tickyard keys new receipt {path}` makes one; let this account read it") from None
    if path.stat().st_mode & 0o007:  # noqa: ASYNC240  nobody else is waiting
        raise Bad(f"{path} can be read by everybody", f"chmod 0600 {path}")
    return str(path)


async def _half_a_program(settings: Settings) -> str:
    there, missing = ("SERVICE_TOKEN", "PAYOUT_DESK") if settings.service_token else ("PAYOUT_DESK", "SERVICE_TOKEN")
    raise Bad(
        f"TICKYARD_{there} is set and TICKYARD_{missing} is not: the reward program is off",
        "set both, or leave both out (TICKYARD_EARN=off says that it is meant)",
    )


async def _payout(settings: Settings, clock: Clock) -> str:
    path = Path(settings.payout_keystore)
    mend = "run this as the payout agent's account, on its machine"
    for each in (path, Path(settings.payout_password_file)):
        _read(each, mend)
        if is_open_to_others(each):
            raise Bad(f"{each} is open to other accounts", f"chmod 0600 {each}")
    try:
        kept = msgspec.json.decode(_read(path, mend)[0], type=dict[str, object])
    except msgspec.MsgspecError:
        raise Bad(f"{path} is no keystore", "restore it from its backup") from None
    address = "0x" + str(kept.get("address", ""))[-40:]
    if not is_address(address):
        raise Bad(f"{path} does not name its account", "restore it from its backup")
    return await payout_account(settings, clock, Address(address.lower()))


def _read(path: Path, mend: str) -> tuple[str, int]:
    try:
        return read_named(path).decode(), path.stat().st_mode
    except (OSError, UnicodeDecodeError):
        raise Bad(f"{path} cannot be read", mend) from None
