"""The bounds of idle work. `docs/architecture.md` gives the same numbers."""

from __future__ import annotations

# The time of the warm-up, once after the start; statements that are left then are skipped.
MOST_WARM_UP_SECONDS = 10.0
# A prefetch is cancelled after this time.
MOST_SECONDS = 2.0
# A prefetch is followed by a pause of so many times its duration, so prefetches take a tenth of the time.
RESTS = 9
# No idle work starts so soon after a statement: another one may follow, or the engine may be closed.
QUIET_SECONDS = 1.0
# The most bytes of a table's manifests: on local disks, and in remote stores, where reading is slow or costs.
MOST_MANIFEST_BYTES = 16 << 20
MOST_MANIFEST_BYTES_ELSEWHERE = 4 << 20
# The most bytes in memory of keys that are read to find the rows that survive.
MOST_KEY_BYTES = 128 << 20
# So many files can be sent to Java in an instant.
MOST_FILES = 5_000
# The pause after the start: by then a caller that waited for it has sent its statement, or closed the engine.
SETTLED_SECONDS = 0.2
