"""The life of an epoch: who holds, the snapshot, the pool, sealing, opening and closing."""
