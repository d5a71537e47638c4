"""Have a worker look at what is due: payments, refunds, callbacks. What is missed now is found within a minute."""

from holdfast.kernel.jobs import wake_in

QUEUE = "payments"


def wake_payments(seconds: float = 0) -> None:
    """Look so many seconds after the commit of the running transaction."""
    wake_in(seconds, QUEUE, "reservations.jobs.work_payments")
