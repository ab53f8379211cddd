"""When the agent must not go on: something is true that the protocol rules out. A person has to look."""


class Halted(Exception):
    """The agent has stopped itself. The message says what it saw; nothing more is signed or sent."""
