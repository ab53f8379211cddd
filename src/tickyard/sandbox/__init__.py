"""The far ends of every connection, played on this machine: a chain, an issuer, a filings house, an inbox."""
