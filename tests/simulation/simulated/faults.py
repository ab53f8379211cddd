"""How badly things go in a town."""

from dataclasses import dataclass


@dataclass
class Faults:
    """Chances of things going wrong; each world draws its own."""

    kill: float = 0.0
    store_error: float = 0.0
    lost_commit: float = 0.0
    lost_request: float = 0.0
    lost_reply: float = 0.0
    slow: float = 0.0
    drop: float = 0.0
    delay: float = 0.0
    reorg: float = 0.0
    freeze: float = 0.0
    flip: float = 0.0
    interleave: float = 0.0
    skew: float = 0.0
    lag: float = 0.0
    hide: float = 0.0
    tear: float = 0.0
    spike: float = 0.0
    fate: float = 0.0
    log_range: int = 10**9
    log_limit: int = 10**9
    fates: tuple = ("run_dry", "run_short", "stop_usdg", "stop_the_chain", "change_the_key", "restore")

    def calm(self):
        """Nothing fails any more. Limits of nodes stay."""
        for name, chance in vars(self).items():
            if isinstance(chance, float):
                setattr(self, name, 0.0)


def draw_faults(rng, mood=None):
    """From a quiet world to a terrible one. `mood` instead of luck: how terrible, or which faults alone."""
    if isinstance(mood, dict):
        return Faults(**{"interleave": 0.05, **mood})
    bad = rng.choice((0.0, 0.3, 1.0, 2.0)) if mood is None else mood
    return Faults(
        kill=bad * 0.002,
        store_error=bad * 0.004,
        lost_commit=bad * 0.01,
        lost_request=bad * 0.02,
        lost_reply=bad * 0.02,
        slow=bad * 0.05,
        drop=bad * 0.15,
        delay=bad * 0.15,
        reorg=bad * 0.05,
        freeze=bad * 0.08,
        flip=bad * 0.4,
        skew=bad * 0.2,
        lag=bad * 0.3,
        hide=bad * 0.15,
        tear=bad * 0.3,
        spike=bad * 0.1,
        fate=bad * 0.4,
        interleave=0.05 + bad * 0.02,
        log_range=rng.choice((10**9, 40, 700)),
        log_limit=rng.choice((10**9, 14)),
    )
