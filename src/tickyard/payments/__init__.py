"""Pay per call, exactly once: the gate before the paid twins, its ledger, and the proof on the chain."""
