"""Filers from abroad: their own units and concepts, one report a year, ordinary shares behind depositary ones."""

from tickyard.sandbox.filings.traps import Trap

ABROAD: dict[str, Trap] = {
    "TSM": Trap(
        why="Reports in TWD and translates the newest year into dollars; five shares to a receipt.",
        without=("all",),
        rows="""
            ifrs-full:Revenue TWD 2894308m 2024-01-01 2024-12-31 20-F 2025-04-17
            ifrs-full:Revenue USD 88268m 2024-01-01 2024-12-31 20-F 2025-04-17
            ifrs-full:Revenue TWD 2894308m 2024-01-01 2024-12-31 20-F 2026-04-16
            ifrs-full:Revenue TWD 3809054m 2025-01-01 2025-12-31 20-F 2026-04-16
            ifrs-full:Revenue USD 121420m 2025-01-01 2025-12-31 20-F 2026-04-16
            ifrs-full:ProfitLossAttributableToOwnersOfParent TWD 1717882m 2025-01-01 2025-12-31 20-F 2026-04-16
            ifrs-full:ProfitLossAttributableToOwnersOfParent USD 54760m 2025-01-01 2025-12-31 20-F 2026-04-16
            ifrs-full:ProfitLoss TWD 1718100m 2025-01-01 2025-12-31 20-F 2026-04-16
            cover shares 25933m - 2025-12-31 20-F 2026-04-16
        """,
        revenue="3809054m TWD 2025-01-01 2025-12-31 FY2025 20-F",
        income="1717882m TWD 2025-01-01 2025-12-31 FY2025 20-F",
        shares="25933m 2025-12-31",
    ),
    "ASML": Trap(
        why="American accounting, in euros.",
        without=("all",),
        rows="""
            Revenues EUR 28263m 2024-01-01 2024-12-31 20-F 2026-02-25
            Revenues EUR 32667m 2025-01-01 2025-12-31 20-F 2026-02-25
            NetIncomeLoss EUR 9609m 2025-01-01 2025-12-31 20-F 2026-02-25
            cover shares 388m - 2025-12-31 20-F 2026-02-25
        """,
        revenue="32667m EUR 2025-01-01 2025-12-31 FY2025 20-F",
        income="9609m EUR 2025-01-01 2025-12-31 FY2025 20-F",
        shares="388m 2025-12-31",
    ),
    "BABA": Trap(
        why="Year to March, CNY with a dollar translation, eight shares to a receipt.",
        without=("all",),
        rows="""
            Revenues CNY 996347m 2024-04-01 2025-03-31 20-F 2025-06-26
            Revenues CNY 996347m 2024-04-01 2025-03-31 20-F 2026-06-24
            Revenues CNY 1023670m 2025-04-01 2026-03-31 20-F 2026-06-24
            Revenues USD 143700m 2025-04-01 2026-03-31 20-F 2026-06-24
            NetIncomeLoss CNY 102100m 2025-04-01 2026-03-31 20-F 2026-06-24
            NetIncomeLoss USD 14330m 2025-04-01 2026-03-31 20-F 2026-06-24
            cover shares 19100m - 2026-03-31 20-F 2026-06-24
        """,
        revenue="1023670m CNY 2025-04-01 2026-03-31 FY2026 20-F",
        income="102100m CNY 2025-04-01 2026-03-31 FY2026 20-F",
        shares="19100m 2026-03-31",
    ),
    "NVO": Trap(
        why="International accounting, in Danish kroner; one share to a receipt.",
        without=("all",),
        rows="""
            ifrs-full:RevenueFromContractsWithCustomers DKK 309064m 2025-01-01 2025-12-31 20-F 2026-02-04
            ifrs-full:ProfitLoss DKK 102434m 2025-01-01 2025-12-31 20-F 2026-02-04
            cover shares 4442m - 2025-12-31 20-F 2026-02-04
        """,
        revenue="309064m DKK 2025-01-01 2025-12-31 FY2025 20-F",
        income="102434m DKK 2025-01-01 2025-12-31 FY2025 20-F",
        shares="4442m 2025-12-31",
        says=("includes the share of minority owners",),
    ),
    "SAP": Trap(
        why="International accounting, in euros.",
        without=("all",),
        rows="""
            ifrs-full:Revenue EUR 36800m 2025-01-01 2025-12-31 20-F 2026-02-26
            ifrs-full:ProfitLossAttributableToOwnersOfParent EUR 7327m 2025-01-01 2025-12-31 20-F 2026-02-26
            cover shares 1228.5m - 2025-12-31 20-F 2026-02-26
        """,
        revenue="36800m EUR 2025-01-01 2025-12-31 FY2025 20-F",
        income="7327m EUR 2025-01-01 2025-12-31 FY2025 20-F",
        shares="1228.5m 2025-12-31",
    ),
    "TM": Trap(
        why="Year to March, in yen, ten shares to a receipt.",
        without=("all",),
        rows="""
            ifrs-full:Revenue JPY 48036704m 2024-04-01 2025-03-31 20-F 2026-06-18
            ifrs-full:Revenue JPY 50684952m 2025-04-01 2026-03-31 20-F 2026-06-18
            ifrs-full:ProfitLossAttributableToOwnersOfParent JPY 3848098m 2025-04-01 2026-03-31 20-F 2026-06-18
            cover shares 13050m - 2026-03-31 20-F 2026-06-18
        """,
        revenue="50684952m JPY 2025-04-01 2026-03-31 FY2026 20-F",
        income="3848098m JPY 2025-04-01 2026-03-31 FY2026 20-F",
        shares="13050m 2026-03-31",
    ),
    "NIO": Trap(
        why="American accounting, in CNY; the share count is stated on the cover of an amendment only.",
        without=("all",),
        rows="""
            Revenues CNY 87488m 2025-01-01 2025-12-31 20-F 2026-04-08
            NetIncomeLoss CNY -15500m 2025-01-01 2025-12-31 20-F 2026-04-08
            cover shares 2480m - 2025-12-31 20-F/A 2026-05-20
        """,
        revenue="87488m CNY 2025-01-01 2025-12-31 FY2025 20-F",
        income="-15500m CNY 2025-01-01 2025-12-31 FY2025 20-F",
        shares="2480m 2025-12-31",
    ),
    "NBIS": Trap(
        why="Reports in dollars, but how its shares relate to the listed security is not in our table.",
        without=("all",),
        rows="""
            Revenues USD 530m 2025-01-01 2025-12-31 20-F 2026-04-30
            NetIncomeLoss USD 102m 2025-01-01 2025-12-31 20-F 2026-04-30
            cover shares 252m - 2025-12-31 20-F 2026-04-30
        """,
        revenue="530m USD 2025-01-01 2025-12-31 FY2025 20-F",
        income="102m USD 2025-01-01 2025-12-31 FY2025 20-F",
        shares="252m 2025-12-31",
        has_market_cap=False,
        says=("marketCap: how many ordinary shares one depositary share stands for is not known to us",),
    ),
    "IREN": Trap(
        why="Moved from international to American accounting and from 20-F to 10-K.",
        rows="""
            ifrs-full:Revenue USD 188m 2023-07-01 2024-06-30 20-F 2024-08-28
            ifrs-full:ProfitLoss USD -29m 2023-07-01 2024-06-30 20-F 2024-08-28
            cover shares 187m - 2024-06-30 20-F 2024-08-28
        """,
    ),
    "SHOP": Trap(
        why="Moved from 40-F to 10-K: the old form must not make it a foreign filer.",
        rows="""
            Revenues USD 4612m 2021-01-01 2021-12-31 40-F 2022-02-16
            NetIncomeLoss USD 2915m 2021-01-01 2021-12-31 40-F 2022-02-16
        """,
    ),
}


def _plain(why: str, taxonomy: str, unit: str, revenue: str, income: str, shares: str, filed: str) -> Trap:
    """A foreign filer with nothing special but its form, its unit and its concepts: calendar years on 20-F."""
    revenue_tag, income_tag = (
        ("ifrs-full:Revenue", "ifrs-full:ProfitLossAttributableToOwnersOfParent")
        if taxonomy == "ifrs-full"
        else ("Revenues", "NetIncomeLoss")
    )
    year = "2025-01-01 2025-12-31"
    return Trap(
        why=why,
        without=("all",),
        rows=f"""
            {revenue_tag} {unit} {revenue} {year} 20-F {filed}
            {income_tag} {unit} {income} {year} 20-F {filed}
            cover shares {shares} - 2025-12-31 20-F {filed}
        """,
        revenue=f"{revenue} {unit} {year} FY2025 20-F",
        income=f"{income} {unit} {year} FY2025 20-F",
        shares=f"{shares} 2025-12-31",
    )


ABROAD |= {
    "BNTX": _plain("In euros.", "ifrs-full", "EUR", "2900m", "-1100m", "250.1m", "2026-03-10"),
    "BP": _plain("In dollars; six shares to a receipt.", "ifrs-full", "USD", "187500m", "55m", "15400m", "2026-03-06"),
    "LI": _plain("In CNY; two to a receipt.", "us-gaap", "CNY", "112310m", "-1100m", "2140m", "2026-04-10"),
    "RACE": _plain("In euros, shares listed as such.", "ifrs-full", "EUR", "7146m", "1597m", "177.6m", "2026-02-20"),
    "SHEL": _plain("In dollars; two to a receipt.", "ifrs-full", "USD", "266890m", "17838m", "5740m", "2026-03-12"),
    "SPOT": _plain("In euros, shares listed as such.", "ifrs-full", "EUR", "17186m", "2212m", "205.9m", "2026-02-05"),
    "XPEV": _plain("In CNY; two to a receipt.", "us-gaap", "CNY", "76700m", "-1140m", "1907m", "2026-04-16"),
}


def _fund(why: str, income: str | None = None, entity_type: str = "operating") -> Trap:
    rows = f"NetIncomeLoss USD {income} 2025-01-01 2025-12-31 10-K 2026-02-27" if income else ""
    return Trap(
        why=why,
        without=("all",),
        rows=rows,
        has_facts=income is not None,
        is_company=False,
        entity_type=entity_type,
        revenue=None,
        income=None,
        shares=None,
        has_market_cap=False,
    )


FUNDS: dict[str, Trap] = {
    "SPY": _fund("A unit trust in the list of filers, without an industry code.", entity_type="other"),
    "DIA": _fund("The same.", entity_type="other"),
    "QQQ": _fund("A unit trust with an industry code of its own.", entity_type="other"),
    "GLD": _fund("A grantor trust that files a 10-K with a net income.", "30120m"),
    "SLV": _fund("The same, silver.", "18800m"),
    "USO": _fund("A commodity pool that files a 10-K with a loss.", "-42m"),
    "IBIT": _fund("A grantor trust, coins.", "-4100m"),
}
