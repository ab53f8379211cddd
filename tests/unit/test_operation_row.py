"""A row of the table: what it asks and answers follows from the function."""

from tickyard.kernel.errors import BadRequest
from tickyard.kernel.operation import Kept, row
from tickyard.kernel.wire import Answer, Ask, TextAnswer


class ThingAsk(Ask):
    name: str


class Thing(Answer):
    name: str


async def get_thing(_deps: object, ask: ThingAsk) -> Thing:
    """Look up one thing."""
    return Thing(name=ask.name)


async def get_kept_thing(_deps: object, ask: ThingAsk) -> Kept[Thing] | Kept[TextAnswer]:
    """Look up one thing, in two forms.

    Freshness: never changes.
    Limits: one thing a call.
    """
    return Kept(Thing(name=ask.name), 1)


def test_a_row_reads_the_types_of_its_function():
    made = row("GET", "/v1/things/{name}", get_thing, "things", (BadRequest,))
    assert (made.name, made.ask, made.answer, made.text) == ("get_thing", ThingAsk, Thing, "Look up one thing.")


def test_a_kept_answer_and_another_form_of_it_are_the_same_answer():
    made = row("GET", "/v1/things/{name}", get_kept_thing, "things", (BadRequest,), name="read_thing", is_tool=False)
    assert (made.name, made.answer, made.is_tool) == ("read_thing", Thing, False)


def test_the_parts_for_agents_are_no_part_of_the_public_description():
    made = row("GET", "/v1/things/{name}", get_kept_thing, "things", (BadRequest,))
    assert made.text == "Look up one thing, in two forms."
    assert (made.part("Freshness"), made.part("Limits"), made.part("Advice")) == (
        "never changes.",
        "one thing a call.",
        "",
    )
