"""`paimark verify`: find missing files that a version of a table needs, and files that no version needs.

Begin at `verify.verify`, which returns a `VerifyReport`. It only reads, and can run beside writers.
"""

from paimark.core.verify.report import Orphan, Problem, VerifyReport
from paimark.core.verify.verify import verify

__all__ = ["Orphan", "Problem", "VerifyReport", "verify"]
