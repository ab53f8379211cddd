"""Who may do what on PostgreSQL. Every `tickyard migrate` puts it right, not only the step that makes a table: the
roles may be made after the tables, and the tables by another account than the one whose tables they were granted for.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from sqlalchemy import Connection, text

from tickyard.observe.log import log

_READ: Final = frozenset({"SELECT"})
_ADD: Final = _READ | {"INSERT"}
_KEEP: Final = _ADD | {"UPDATE"}
_ALL: Final = _KEEP | {"DELETE"}
_NONE: Final = frozenset[str]()
_OTHERS: Final = frozenset({"TRUNCATE", "REFERENCES", "TRIGGER"})

_WORKERS: Final = (
    *("holder_mark", "holder_balance", "holder_transfer", "revenue", "payment_proof", "earn_epoch", "earn_share"),
    *("earn_credit", "earn_rollover", "earn_close", "earn_books"),
)
_AGENTS: Final = (
    *("earn_payer", "earn_payout", "earn_line", "earn_batch", "earn_desk_mark", "earn_tally", "earn_halt"),
)
# Pinned once; another one takes the account of a person.
_PINS: Final = {"pinned_token": _ADD, "alert_key": _ADD, "accepted_token": _READ}
_AGENT: Final = "tickyard_payout"
_USUAL: Final = {"tickyard_api": _ALL, "tickyard_worker": _ALL, _AGENT: _NONE}
_UNUSUAL: Final[dict[str, dict[str, frozenset[str]]]] = {
    "tickyard_api": {
        **dict.fromkeys((*_WORKERS, *_AGENTS), _READ),
        **_PINS,
        "earn_claim": _KEEP,
        # Sharing the gate's row is a lock, and locks need this right; the row holds nothing but its name.
        "earn_gate": _READ | {"UPDATE"},
    },
    "tickyard_worker": {**dict.fromkeys((*_AGENTS, "earn_claim"), _READ), **_PINS},
    _AGENT: {
        **dict.fromkeys(("alembic_version", "earn_epoch", "earn_share", "earn_claim", "earn_close"), _READ),
        **dict.fromkeys((*_AGENTS, "lease"), _KEEP),
        # A person lifts a halt with the agent's own account.
        "earn_halt": _ALL,
    },
}
_OURS: Final = (
    " FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace, pg_roles r, unnest(CAST(:words AS text[])) p(word)"
    " WHERE n.nspname = current_schema() AND c.relkind IN ('r', 'p') AND r.rolname = ANY(:roles)"
    # What an extension brought along is its own affair.
    " AND NOT EXISTS (SELECT 1 FROM pg_depend d WHERE d.objid = c.oid AND d.deptype = 'e')"
)
_FOUND: Final = text(
    "SELECT r.rolname, c.relname, quote_ident(n.nspname) || '.' || quote_ident(c.relname), p.word,"
    f" has_table_privilege(r.oid, c.oid, p.word){_OURS} ORDER BY 1, 2, 4"
)
_LACKING: Final = text(
    f"SELECT r.rolname, c.relname, p.word{_OURS} AND NOT has_table_privilege(c.oid, p.word) ORDER BY 1, 2, 3"
)
_MINE: Final = text("SELECT rolname FROM pg_roles WHERE rolname = ANY(:roles) AND pg_has_role(oid, 'USAGE') ORDER BY 1")
_SCHEMA: Final = text(
    "SELECT rolname, quote_ident(current_schema()) FROM pg_roles"
    " WHERE rolname = ANY(:roles) AND NOT has_schema_privilege(oid, current_schema(), 'USAGE')"
)
_ROLES: Final = text("SELECT rolname FROM pg_roles WHERE rolname = ANY(:roles)")


@dataclass(frozen=True, slots=True)
class Standing:
    """What the connected account is, and what it may not do although its processes need it."""

    account: str
    roles: tuple[str, ...]
    lacking: dict[str, list[str]]
    """Tables by right."""

    @property
    def is_agents_alone(self) -> bool:
        return self.roles == (_AGENT,)


def standing(connection: Connection, *, is_agent: bool) -> Standing:
    """Judged by each role that it is in. One that is in none may have been given everything by hand: then by the
    process to which it comes nearest."""
    account = str(connection.execute(text("SELECT current_user")).scalar_one())
    roles = tuple(connection.execute(_MINE, {"roles": list(_USUAL)}).scalars())
    judged = roles or ((_AGENT,) if is_agent else tuple(role for role in _USUAL if role != _AGENT))
    lacking: dict[str, list[tuple[str, str]]] = {role: [] for role in judged}
    for role, table, word in connection.execute(_LACKING, {"roles": list(judged), "words": sorted(_ALL)}):
        if _is_wanted(role, table, word):
            lacking[role].append((word, table))
    found = {each for its in lacking.values() for each in its} if roles else min(lacking.values(), key=len)
    by_word: dict[str, list[str]] = {}
    for word, table in sorted(found):
        by_word.setdefault(word, []).append(table)
    return Standing(account, roles, by_word)


def _is_wanted(role: str, table: str, word: str) -> bool:
    return word in _UNUSUAL[role].get(table, _USUAL[role])


def put_right(connection: Connection) -> None:
    """Give each role what it needs and take what it must not have. Where all is right, no right is needed to say so."""
    roles = list(_USUAL)
    missing = set(roles) - set(connection.execute(_ROLES, {"roles": roles}).scalars())
    if missing:
        log.warning(
            "no process can have an account of its own: make the roles (deploy/accounts.sh) and migrate again",
            missing=sorted(missing),
        )
    statements = [*_wrong(connection, roles)]
    for statement in statements:
        connection.execute(text(statement))
    if statements:
        log.info("rights on the tables put right", changes=len(statements))


def _wrong(connection: Connection, roles: list[str]) -> Iterator[str]:
    for role, schema in connection.execute(_SCHEMA, {"roles": roles}):
        yield f"GRANT USAGE ON SCHEMA {schema} TO {role}"
    words = sorted(_ALL | _OTHERS)
    for role, name, table, word, has in connection.execute(_FOUND, {"roles": roles, "words": words}):
        wanted = _is_wanted(role, name, word)
        if wanted and not has:
            yield f"GRANT {word} ON {table} TO {role}"
        elif has and not wanted:
            yield f"REVOKE {word} ON {table} FROM {role}"
