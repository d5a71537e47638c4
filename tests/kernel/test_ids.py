"""Ids: UUIDv7 that sort by the order of their making."""

import threading
import time
from itertools import pairwise
from uuid import RFC_4122

from holdfast.kernel.ids import new_id

COUNT = 20_000


def test_ids_grow_strictly_though_many_are_made_in_one_millisecond():
    made = [new_id() for _ in range(COUNT)]
    assert all(earlier < later for earlier, later in pairwise(made))
    assert [str(identity) for identity in made] == sorted(str(identity) for identity in made)


def test_ids_are_uuids_of_version_7_with_the_time_in_front():
    before = time.time_ns() // 1_000_000
    identity = new_id()
    after = time.time_ns() // 1_000_000
    assert (identity.version, identity.variant) == (7, RFC_4122)
    assert before <= identity.int >> 80 <= after + 1


def test_ids_grow_across_the_threads_of_a_process():
    made: list = []
    lock = threading.Lock()

    def make() -> None:
        for _ in range(COUNT // 10):
            with lock:
                made.append(new_id())

    threads = [threading.Thread(target=make) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(made) == 4 * COUNT // 10
    assert made == sorted(made)
    assert len(set(made)) == len(made)
