"""One room per feature, independent of one another. An operation parses, asks the market or the store, and answers."""
