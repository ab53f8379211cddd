"""Corporate actions: fetched from the issuer, archived for good."""
