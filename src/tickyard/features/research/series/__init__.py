"""Years, quarters and the trailing year, each figure from the newest filing of its period."""
