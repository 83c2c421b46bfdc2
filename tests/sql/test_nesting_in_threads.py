"""The limit of calls is one for all threads: who leaves first takes it from nobody."""

import sys
import threading

from penstock.sql.nesting import room_for_nesting


def test_the_last_to_leave_restores_the_limit():
    before, inside, leave = sys.getrecursionlimit(), threading.Event(), threading.Event()

    def stay():
        with room_for_nesting():
            inside.set()
            leave.wait(60)

    with room_for_nesting():
        other = threading.Thread(target=stay)
        other.start()
        assert inside.wait(60)
    try:
        assert sys.getrecursionlimit() >= 20_000
    finally:
        leave.set()
        other.join()
    assert sys.getrecursionlimit() == before
