"""Run the step that follows each commit of Paimark, also in a Python worker of a user's own Spark.

The step makes a savepoint if one is due by the table's options. That is an action, in a layer above this one.
A function can't be passed to Spark's workers, so the target has its name.
"""

from __future__ import annotations

import logging
from importlib import import_module

from paimark.core.redaction import redacted
from paimark.core.spark.writing.target import WriteTarget

_LOG = logging.getLogger(__name__)


def after_commit(target: WriteTarget) -> None:
    """Run the target's step after its commit. Call it once per commit; it never raises.

    A failure is only logged: with an error Spark would assume that nothing was committed.
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
