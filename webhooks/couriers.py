"""Those who carry: a worker process's threads that send, each one request at a time, and one that writes down.

A job only claims and hands over, which takes milliseconds, so no job ever waits for a receiver. One that hangs keeps at
most four threads of many, and then its endpoint is served by the other queue, whose worker has threads of its own.
Threads that send use no database; a single one does, the desk, which records each answer and claims what is next for
the same endpoint. An answer that can't be written down now, as the endpoint is locked or the database away, is kept and
written down later, while the desk serves others.
"""

import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Self
from uuid import UUID

import structlog
from django.db import Error, close_old_connections, connections
from django.db.models import Exists, OuterRef

from holdfast.kernel.clock import Now
from tenants.scope import NameTaken
from webhooks import egress
from webhooks.delivery import IN_FLIGHT_MAX, Answered, Claimed, EndpointTaken, Send, claim, has_no_room, record, send
from webhooks.models import AT_WORK, Delivery, Endpoint

logger = structlog.get_logger(__name__)
THREADS = 64
DUE_MAX = 1_000
# before an answer that was not written down is tried again; and how long that goes on as the process ends
AGAIN_SECONDS = 1.0
CLOSING_SECONDS = 5.0


def due_endpoints(*, is_slow: bool) -> list[tuple[UUID, UUID]]:
    """Tenant and id of endpoints that have something due and room for it. So many at once, chosen and ordered by
    chance: none is always first or always left out, and of two at work at once each begins elsewhere."""
    due = Delivery.everywhere.filter(endpoint=OuterRef("pk"), look_at__lte=Now())
    found = Endpoint.everywhere.filter(AT_WORK, Exists(due), is_slow=is_slow).exclude(has_no_room(is_slow=is_slow))
    return list(found.order_by("?").values_list("tenant_id", "id")[:DUE_MAX])


class Couriers:
    """The threads of one process for one of the two queues. `by` makes the requests."""

    def __init__(self, *, is_slow: bool, threads: int = THREADS, by: Send = egress.send) -> None:
        self._is_slow = is_slow
        self._by = by
        self._senders = ThreadPoolExecutor(threads, thread_name_prefix="courier")
        self._desk = ThreadPoolExecutor(1, thread_name_prefix="desk")
        self._counting = threading.Condition()
        self._free = threads
        # under way
        self._claims = 0
        # of each endpoint, sent and not yet written down
        self._answers: dict[UUID, list[Answered]] = {}
        # runs while some of them are to be written down later
        self._timer: threading.Timer | None = None
        self._is_closing = False
        # somebody found no thread free: look for all that is due once there is one
        self._was_short = False

    def take_up(self, tenant_id: UUID, endpoint_id: UUID) -> int:
        """Begin to send what is due to this endpoint, as far as threads are free; answers how many."""
        reserved = self._reserve(IN_FLIGHT_MAX)
        if not reserved:
            return 0
        claimed: list[Claimed] = []
        try:
            claimed = claim(tenant_id=tenant_id, endpoint_id=endpoint_id, count_max=reserved, is_slow=self._is_slow)
            for one in claimed:
                self._senders.submit(self._carry, one)
        except (NameTaken, EndpointTaken):
            logger.info("claim_left_to_the_sweep", endpoint=str(endpoint_id))
        finally:
            self._give_back(reserved - len(claimed), claims=1)
        return len(claimed)

    def take_up_all(self) -> int:
        """The same for every endpoint that has something due; one that fails keeps no other from it."""
        self._was_short = False
        taken = 0
        for tenant_id, endpoint_id in due_endpoints(is_slow=self._is_slow):
            try:
                taken += self.take_up(tenant_id, endpoint_id)
            except Exception:
                logger.exception("claim_failed", tenant=str(tenant_id), endpoint=str(endpoint_id))
            if self._was_short:
                break
        return taken

    def close(self) -> None:
        """Take up nothing more, and wait until what was taken up is sent and written down."""
        with self._counting:
            self._is_closing = True
            self._counting.wait_for(lambda: not self._claims)  # what they take is sent, too
        self._senders.shutdown()
        self._write_down_the_rest()
        self._desk.submit(connections.close_all)
        self._desk.shutdown()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _carry(self, claimed: Claimed) -> None:
        """In a thread of its own."""
        try:
            answer = send(claimed, self._by)
            with self._counting:
                self._answers.setdefault(claimed.endpoint_id, []).append((claimed, answer))
        except Exception:  # what was not sent is sent when its lease has run out
            logger.exception("send_failed", delivery=str(claimed.delivery_id))
        finally:
            self._give_back(1)
        self._desk.submit(self._note, claimed.tenant_id, claimed.endpoint_id)

    def _note(self, tenant_id: UUID, endpoint_id: UUID) -> None:
        """At the desk: write down all answers of the endpoint that are there by now, and go on with what is next."""
        with self._counting:
            answers = self._answers.pop(endpoint_id, [])
        if not (answers or self._was_short):
            return  # the turn of an earlier answer has taken this one along
        close_old_connections()
        try:
            if answers:
                record(endpoint_id, answers)
                answers = []
            self.take_up(tenant_id, endpoint_id)
            if self._was_short:
                self.take_up_all()
        except (Error, EndpointTaken) as error:
            logger.warning("desk_goes_on_later", endpoint=str(endpoint_id), error=type(error).__name__)
            self._keep(endpoint_id, answers)
        except Exception:  # what was not written down is sent again when its lease has run out
            logger.exception("record_failed", endpoint=str(endpoint_id))
        finally:
            close_old_connections()

    def _keep(self, endpoint_id: UUID, answers: Sequence[Answered]) -> None:
        """For later, as long as nobody else may have taken over: who has answered is not to be asked again."""
        kept = [answered for answered in answers if answered[0].lease_ends_at > time.monotonic()]
        if len(kept) < len(answers):
            logger.error("answers_lost", endpoint=str(endpoint_id), count=len(answers) - len(kept))
        if not kept:
            return
        with self._counting:
            self._answers[endpoint_id] = kept + self._answers.get(endpoint_id, [])
            if self._timer is None and not self._is_closing:
                self._timer = threading.Timer(AGAIN_SECONDS, self._come_back)
                self._timer.daemon = True
                self._timer.start()

    def _come_back(self) -> None:
        """In the timer's thread: have the desk write down what was kept."""
        with self._counting:
            self._timer = None
            answers = list(self._answers.values())
        for (claimed, _), *_ in answers:
            self._desk.submit(self._note, claimed.tenant_id, claimed.endpoint_id)

    def _write_down_the_rest(self) -> None:
        """As the process ends: nobody else has these answers."""
        if timer := self._timer:
            timer.cancel()
            timer.join()
        ends_at = time.monotonic() + CLOSING_SECONDS
        while True:
            self._come_back()
            self._desk.submit(bool).result()  # all before it are done by then
            if not self._answers or time.monotonic() > ends_at:
                return
            time.sleep(AGAIN_SECONDS)

    def _reserve(self, count_max: int) -> int:
        """So many threads for one claim; with none there is nothing to give back."""
        with self._counting:
            count = 0 if self._is_closing else min(count_max, self._free)
            self._free -= count
            self._claims += bool(count)
            self._was_short = self._was_short or not (count or self._is_closing)
            return count

    def _give_back(self, count: int, claims: int = 0) -> None:
        with self._counting:
            self._free += count
            self._claims -= claims
            self._counting.notify_all()


_of_this_process: dict[bool, Couriers] = {}


def couriers(*, is_slow: bool) -> Couriers:
    """Those of this process; made when they are first asked for."""
    if is_slow not in _of_this_process:
        _of_this_process[is_slow] = Couriers(is_slow=is_slow)
    return _of_this_process[is_slow]


def close_couriers() -> None:
    """Before the process ends: let those that carry arrive."""
    while _of_this_process:
        _of_this_process.popitem()[1].close()
