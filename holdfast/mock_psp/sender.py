"""Send what is queued: at least once, a few at a time, again and again while HoldFast is away."""

import sqlite3
import threading
import time
from http import HTTPStatus

import structlog

from holdfast.mock_psp.deliveries import Deliveries, Delivery
from reservations.checkout.calls import NoAnswer, call
from reservations.checkout.mock_signature import HEADER, callback_secrets, sign

SENDERS = 4
DEADLINE_SECONDS = 5.0
ANSWER_BYTES_MAX = 64 * 1024
FAULT_SECONDS = 1.0

logger = structlog.get_logger(__name__)


def start_senders(deliveries: Deliveries) -> None:
    """Threads that end with the process."""
    turn = threading.Lock()
    for number in range(SENDERS):
        threading.Thread(target=_send_all, args=(deliveries, turn), name=f"sender {number}", daemon=True).start()


def _send_all(deliveries: Deliveries, turn: threading.Lock) -> None:
    while True:
        try:
            _send_next(deliveries, turn)
        except sqlite3.Error:
            # a full disk, or a file that somebody else keeps: what was claimed comes again
            logger.exception("mock_psp_queue_unusable")
            time.sleep(FAULT_SECONDS)


def _send_next(deliveries: Deliveries, turn: threading.Lock) -> None:
    # one waits for the queue, the others for their turn
    with turn:
        delivery = deliveries.next()
    if _was_taken(delivery):
        deliveries.done(delivery)
    else:
        deliveries.try_later(delivery)


def _was_taken(delivery: Delivery) -> bool:
    # signed anew each time: HoldFast refuses what was signed long ago
    signature = sign(delivery.body, callback_secrets(delivery.merchant)[0], int(time.time()))
    try:
        answer = call(
            "POST",
            delivery.url,
            deadline_seconds=DEADLINE_SECONDS,
            answer_bytes_max=ANSWER_BYTES_MAX,
            headers={"Content-Type": "application/json", HEADER: signature},
            body=delivery.body,
        )
    except NoAnswer:
        return False
    return HTTPStatus(200) <= answer.status < HTTPStatus(300)
