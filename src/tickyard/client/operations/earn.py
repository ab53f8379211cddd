"""The operations of the group 'earn'. Written by `python -m tickyard.clientgen`."""

# ruff: noqa: A002

from typing import cast

from tickyard.client.answers.earn import Claimed, Earn, EpochBooks, Reserves, WalletStatus
from tickyard.client.routes import AsyncGroup, Group, Param, Route

ROUTES: dict[str, Route] = {
    "get_earn": Route("GET", "/v1/earn", Earn),
    "get_earn_status": Route(
        "GET", "/v1/earn/status/{address}", WalletStatus, params=(Param("address", str, is_required=True),)
    ),
    "claim_earn": Route(
        "POST",
        "/v1/earn/claim",
        Claimed,
        params=(
            Param("address", str, is_required=True),
            Param("epoch", int, is_required=True),
            Param("signature", str, is_required=True),
        ),
        is_read_only=False,
    ),
    "get_epoch_books": Route(
        "GET",
        "/v1/earn/epochs/{id}",
        EpochBooks,
        params=(
            Param("id", int, is_required=True),
            Param("limit", int),
            Param("cursor", str | None),
        ),
    ),
    "get_earn_reserves": Route("GET", "/v1/earn/reserves", Reserves),
}


class AsyncEarnGroup(AsyncGroup):
    async def get_earn(self) -> Earn:
        """The daily reward program: token, schedule, the pool that accrues today, and the newest epoch."""
        return cast(Earn, await self._call(ROUTES["get_earn"], {}))

    async def get_earn_status(self, *, address: str) -> WalletStatus:
        """A wallet's standing in the newest epoch, with the exact message to sign for a claim."""
        return cast(WalletStatus, await self._call(ROUTES["get_earn_status"], {"address": address}))

    async def claim_earn(self, *, address: str, epoch: int, signature: str) -> Claimed:
        """Claim a wallet's share of one epoch's pool with its signature."""
        return cast(
            Claimed,
            await self._call(ROUTES["claim_earn"], {"address": address, "epoch": epoch, "signature": signature}),
        )

    async def get_epoch_books(self, *, id: int, limit: int = 1000, cursor: str | None = None) -> EpochBooks:
        """The public books of one epoch: pool, revenue, rollover, and its wallets with share, claim and transaction,
        a page at a time."""
        return cast(
            EpochBooks, await self._call(ROUTES["get_epoch_books"], {"id": id, "limit": limit, "cursor": cursor})
        )

    async def get_earn_reserves(self) -> Reserves:
        """What the reward program holds and owes: the payout account's USDG, ETH and allowance, and for the newest
        epochs pool, payments and the hash of the books, from the chain and from our own records side by side, at one
        block."""
        return cast(Reserves, await self._call(ROUTES["get_earn_reserves"], {}))


class EarnGroup(Group):
    def get_earn(self) -> Earn:
        """The daily reward program: token, schedule, the pool that accrues today, and the newest epoch."""
        return cast(Earn, self._call(ROUTES["get_earn"], {}))

    def get_earn_status(self, *, address: str) -> WalletStatus:
        """A wallet's standing in the newest epoch, with the exact message to sign for a claim."""
        return cast(WalletStatus, self._call(ROUTES["get_earn_status"], {"address": address}))

    def claim_earn(self, *, address: str, epoch: int, signature: str) -> Claimed:
        """Claim a wallet's share of one epoch's pool with its signature."""
        return cast(
            Claimed, self._call(ROUTES["claim_earn"], {"address": address, "epoch": epoch, "signature": signature})
        )

    def get_epoch_books(self, *, id: int, limit: int = 1000, cursor: str | None = None) -> EpochBooks:
        """The public books of one epoch: pool, revenue, rollover, and its wallets with share, claim and transaction,
        a page at a time."""
        return cast(EpochBooks, self._call(ROUTES["get_epoch_books"], {"id": id, "limit": limit, "cursor": cursor}))

    def get_earn_reserves(self) -> Reserves:
        """What the reward program holds and owes: the payout account's USDG, ETH and allowance, and for the newest
        epochs pool, payments and the hash of the books, from the chain and from our own records side by side, at one
        block."""
        return cast(Reserves, self._call(ROUTES["get_earn_reserves"], {}))
