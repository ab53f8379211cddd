"""The two HTTP upstreams, the issuer and the filings database, each read through one careful client."""
