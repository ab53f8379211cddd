"""How far a listener has heard: the id that every durable event carries, and with which anybody can go on anywhere.

Two things happen independently, rounds and corporate actions, and each replica may tell them in another order between
one another. So the id says how far both were told: `<slot>.<part>.<microseconds>.<action>`.
"""

import re
from dataclasses import dataclass
from typing import Final, Self

_FORM: Final = re.compile(r"([0-9]{1,9})\.([0-9]{1,3})\.([0-9]{1,16})\.([a-z0-9_]{0,64})")
LAST_PART: Final = 999
"""Behind every event of a round."""

RoundPlace = tuple[int, int]
"""A slot, and which of its events: the sample first, then the candles it closed."""
ActionPlace = tuple[int, str]


@dataclass(frozen=True, slots=True)
class Cursor:
    round: RoundPlace
    action: ActionPlace

    def text(self) -> str:
        return f"{self.round[0]}.{self.round[1]}.{self.action[0]}.{self.action[1]}"

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """None: not an id of ours."""
        found = _FORM.fullmatch(text)
        if found is None:
            return None
        slot, part, micros, action = found.groups()
        return cls((int(slot), int(part)), (int(micros), action))

    def is_at_least(self, other: "Cursor") -> bool:
        """Whether whoever is here has heard all that is heard there."""
        return self.round >= other.round and self.action >= other.action

    def heard_round(self, place: RoundPlace) -> "Cursor":
        return Cursor(place, self.action)

    def heard_action(self, place: ActionPlace) -> "Cursor":
        return Cursor(self.round, place)
