"""`paimark verify`: is every file there that any version of a table needs, and what is there that none does?

Begin at `verify.verify`, which gives a `VerifyReport`. It reads only, and goes beside writers.
"""

from core.verify.report import Orphan, Problem, VerifyReport
from core.verify.verify import verify

__all__ = ["Orphan", "Problem", "VerifyReport", "verify"]
