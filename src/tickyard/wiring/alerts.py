"""What alerts need: keys for their secrets, and the one way out to webhooks."""

import ssl
from pathlib import Path

from tickyard.config.settings import Settings, SettingsError
from tickyard.features.alerts.caps import AlertCaps
from tickyard.features.alerts.operations import AlertDesk
from tickyard.features.alerts.pinned_keys import pin_keys
from tickyard.features.alerts.secret import AlertKeys
from tickyard.features.alerts.webhook.addresses import EgressPolicy
from tickyard.features.alerts.webhook.egress import Egress
from tickyard.features.alerts.webhook.resolver import ThreadedResolver
from tickyard.kernel.clock import Clock
from tickyard.kernel.files import read_named
from tickyard.store.engine import Store


def open_desk(settings: Settings, clock: Clock) -> AlertDesk:
    return AlertDesk(_alert_keys(settings), _egress(settings, clock), AlertCaps(total=settings.alerts_max))


async def check_keys(store: Store, keys: AlertKeys) -> None:
    """One key for each version in all processes, or this one does not start."""
    if others := await pin_keys(store, keys):
        raise SettingsError(
            f"version {others[0]} in the file named by TICKYARD_SECRET_KEY_FILE is another key than the one that this"
            " store's alerts were made under: put the right file there; if that key is lost, give the new one a"
            " higher number than any before"
        )


def _alert_keys(settings: Settings) -> AlertKeys:
    try:
        return AlertKeys.read(read_named(Path(settings.secret_key_file)).decode())
    except OSError as error:
        raise SettingsError(
            f"the file named by TICKYARD_SECRET_KEY_FILE cannot be read by this account: {error.strerror}"
        ) from None
    except UnicodeDecodeError:
        raise SettingsError("the file named by TICKYARD_SECRET_KEY_FILE cannot be read as text") from None
    except ValueError as error:
        raise SettingsError(str(error)) from None


def _egress(settings: Settings, clock: Clock) -> Egress:
    """Public HTTPS only; in the sandbox also its own inbox, whose certificate nobody else trusts."""
    if not settings.is_sandbox:
        return Egress(EgressPolicy(), ThreadedResolver(), ssl.create_default_context(), clock)
    from tickyard.sandbox.standins.inbox import CERTIFICATE_FILE, HOST, PORT_FILE, read_port

    port = read_port(settings.data_path / PORT_FILE)
    policy = EgressPolicy(allowed_extra=frozenset({(HOST, port)}))
    tls = ssl.create_default_context(cafile=str(settings.data_path / CERTIFICATE_FILE))
    return Egress(policy, ThreadedResolver(), tls, clock)
