"""How many calls a node is asked at once, after it has refused more."""

from tickyard.chain.rpc.batches import BatchSize

MOST = 100


def first_of(size):
    return len(size.parts(range(MOST))[0])


def test_what_was_refused_is_tried_again_after_64_requests_and_not_before():
    size = BatchSize(MOST)
    size.note_refused(MOST)
    for _ in range(63):
        size.note_taken(50)
    assert first_of(size) == 50
    size.note_taken(50)
    assert first_of(size) == MOST
    # One request was enough to see.
    assert first_of(size) == 50
    size.note_refused(MOST)
    assert first_of(size) == 50
    size.note_taken(MOST)
    assert [len(part) for part in size.parts(range(MOST + 1))] == [MOST, 1]


def test_a_request_refused_while_smaller_ones_are_asked_already_changes_nothing():
    size = BatchSize(MOST)
    size.note_refused(MOST)
    size.note_refused(MOST)
    assert first_of(size) == 50
    size.note_refused(50)
    assert first_of(size) == 25


def test_one_call_is_asked_however_often_it_is_refused():
    size = BatchSize(2)
    for _ in range(5):
        size.note_refused(1)
    assert [len(part) for part in size.parts("abc")] == [1, 1, 1]
    assert size.parts("") == []
