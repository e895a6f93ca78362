"""How much is done before anybody asks for it. `docs/architecture.md` tells people the same numbers."""

from __future__ import annotations

# The warm-up, once after the start; statements that are left by then are left out.
MOST_WARM_UP_SECONDS = 10.0
# The prefetch of one table is cancelled after this.
MOST_SECONDS = 2.0
# After a prefetch there is none for so many times as long as it took: prefetches take a tenth of the time.
RESTS = 9
# Nobody is disturbed who asks one thing after another, nor whoever asks one thing and leaves.
QUIET_SECONDS = 1.0
# Of a table's metadata, in bytes: on this machine's disks, and where reading is slow or has its price.
MOST_MANIFEST_BYTES = 16 << 20
MOST_MANIFEST_BYTES_ELSEWHERE = 4 << 20
# Of keys that are read to see which rows survive, as they lie in memory.
MOST_KEY_BYTES = 128 << 20
# So many are told to Java in an instant.
MOST_FILES = 5_000
# After the start: who only wanted to know that it starts is gone then, and who waits for it has asked.
SETTLED_SECONDS = 0.2
