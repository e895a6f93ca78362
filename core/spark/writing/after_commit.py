"""Do what follows each commit of this project, also in a Python worker of somebody's own Spark.

It is a savepoint, where the table's options say that one is due: an action, and so above this layer. Nobody
hands a function over to Spark's workers, so it goes by its name, which the target carries.
"""

from __future__ import annotations

import logging
from importlib import import_module

from core.redaction import redacted
from core.spark.writing.target import WriteTarget

_LOG = logging.getLogger(__name__)


def after_commit(target: WriteTarget) -> None:
    """Do what the target asks for, now that its rows are committed. Call it once a commit; it never raises.

    A failure is only logged: an error would make Spark think that nothing was committed.
    """
    if target.after_commit is None:
        return
    module, _, name = target.after_commit.partition(":")
    try:
        message = getattr(import_module(module), name)(target.warehouse, target.options, target.root)
    except Exception as error:
        _LOG.warning(
            "The rows were committed to %s, but what should follow failed: %s",
            target.name,
            redacted(str(error)),
        )
    else:
        if message:
            _LOG.info(message)
