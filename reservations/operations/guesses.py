"""How many tokens that are none one caller may try.

Nobody can guess 128 bits at any rate. The bound keeps a caller who tries from being answered at full speed, and tells
operators of it. A good token is never refused for it, so whoever guesses closes no gate, and a gate whose visitors hold
up other codes goes on. Counted by each process for itself: Redis may be away, and a restart forgives.
"""

from collections.abc import Hashable, Iterator
from itertools import count
from threading import Lock

import structlog
from cachetools import TTLCache

from reservations.errors import TooManyBadTokens

BAD_TOKENS_MAX = 100
WINDOW_SECONDS = 60
GUESSERS_MAX = 10_000

logger = structlog.get_logger(__name__)
_counts: TTLCache[Hashable, Iterator[int]] = TTLCache(GUESSERS_MAX, WINDOW_SECONDS)
_lock = Lock()


def count_bad_token(guesser: Hashable) -> None:
    """Note one more of this caller (a key's id, a person's). Raises TooManyBadTokens from the 101st a minute on."""
    with _lock:
        # the time to live is that of the first: a window that ends however many follow
        tried = next(_counts.setdefault(guesser, count(1)))
    if tried == BAD_TOKENS_MAX + 1:
        logger.warning("many_bad_tokens", guesser=str(guesser), tokens_max=BAD_TOKENS_MAX, seconds=WINDOW_SECONDS)
    if tried > BAD_TOKENS_MAX:
        raise TooManyBadTokens(WINDOW_SECONDS)
