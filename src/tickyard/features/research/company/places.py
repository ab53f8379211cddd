"""Where a filer is incorporated, in words. The filings database has codes of its own for provinces and countries."""

from typing import Final

_STATES: Final = (
    "AL Alabama|AK Alaska|AZ Arizona|AR Arkansas|CA California|CO Colorado|CT Connecticut|DE Delaware|"
    "DC District of Columbia|FL Florida|GA Georgia|HI Hawaii|ID Idaho|IL Illinois|IN Indiana|IA Iowa|KS Kansas|"
    "KY Kentucky|LA Louisiana|ME Maine|MD Maryland|MA Massachusetts|MI Michigan|MN Minnesota|MS Mississippi|"
    "MO Missouri|MT Montana|NE Nebraska|NV Nevada|NH New Hampshire|NJ New Jersey|NM New Mexico|NY New York|"
    "NC North Carolina|ND North Dakota|OH Ohio|OK Oklahoma|OR Oregon|PA Pennsylvania|PR Puerto Rico|RI Rhode Island|"
    "SC South Carolina|SD South Dakota|TN Tennessee|TX Texas|UT Utah|VT Vermont|VA Virginia|VI Virgin Islands, U.S.|"
    "WA Washington|WV West Virginia|WI Wisconsin|WY Wyoming|X1 United States"
)
_PROVINCES: Final = (
    "A0 Alberta, Canada|A1 British Columbia, Canada|A2 Manitoba, Canada|A3 New Brunswick, Canada|"
    "A4 Newfoundland, Canada|A5 Nova Scotia, Canada|A6 Ontario, Canada|A7 Prince Edward Island, Canada|"
    "A8 Quebec, Canada|A9 Saskatchewan, Canada|B0 Yukon, Canada|Z4 Canada"
)
_COUNTRIES: Final = (
    "2M Germany|C1 Argentina|C3 Australia|C4 Austria|C5 Bahamas|C8 Barbados|C9 Belgium|D0 Bermuda|D5 Brazil|"
    "D8 British Virgin Islands|E9 Cayman Islands|F3 Chile|F4 China|F5 Taiwan|F8 Colombia|G4 Cyprus|2N Czech Republic|"
    "G7 Denmark|H9 Finland|I0 France|J3 Greece|K3 Hong Kong|K5 Hungary|K7 India|K8 Indonesia|L2 Ireland|L3 Israel|"
    "L6 Italy|M0 Japan|M5 Korea, Republic of|N4 Luxembourg|N8 Malaysia|O5 Mexico|P7 Netherlands|Q2 New Zealand|"
    "Q8 Norway|R1 Panama|R5 Peru|R6 Philippines|R9 Poland|S1 Portugal|T0 Saudi Arabia|T3 South Africa|U0 Singapore|"
    "U3 Spain|V7 Sweden|V8 Switzerland|W1 Thailand|W8 Turkey|X0 United Kingdom|X3 Uruguay|X5 Venezuela|Y7 Guernsey|"
    "Y8 Isle of Man|Y9 Jersey|1T Marshall Islands|1Z Russian Federation|C0 United Arab Emirates|O1 Malta|"
    "N0 Liberia|J1 Gibraltar|N2 Liechtenstein|O4 Mauritius|O9 Monaco|Q1 Vietnam|P8 Netherlands Antilles|K6 Iceland|"
    "2H Ukraine|1P Kazakhstan|N5 Macau|G2 Costa Rica|1H Estonia|S5 Romania|M6 Kuwait|S3 Qatar|H2 Egypt"
)

NAMES: Final[dict[str, str]] = {
    line[:2]: line[3:] for table in (_STATES, _PROVINCES, _COUNTRIES) for line in table.split("|")
}


def is_overseas(code: str | None) -> bool:
    """Whether it is in neither the United States nor Canada, whose companies list their very shares in New York."""
    text = (code or "").upper()
    return any(letter.isdigit() for letter in text) and not NAMES.get(text, "").endswith(("Canada", "United States"))


def place_name(code: str | None, described: str | None) -> str | None:
    """The place that a code means: as the database describes it, else as we know it; None when neither does."""
    if code is None:
        return None
    # Some descriptions repeat the code in front.
    words = (described or "").removeprefix(f"{code} ").strip()
    if len(words) > len(code):
        return words
    return NAMES.get(code.upper())
