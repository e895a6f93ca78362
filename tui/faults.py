"""What nobody foresaw, as a sentence: the edge of every thread ends here."""

from __future__ import annotations

from core.errors import PaimarkError


def unexpected(error: BaseException) -> PaimarkError:
    """A fault of this program, said so; the place is enough to report it."""
    place = error.__traceback__
    while place is not None and place.tb_next is not None:
        place = place.tb_next
    where = f"{place.tb_frame.f_code.co_filename}:{place.tb_lineno}" if place else "nowhere"
    return PaimarkError(f"{type(error).__name__}: {error}", f"This is a fault of Paimark itself, at {where}.")
