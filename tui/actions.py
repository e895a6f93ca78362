"""From the row under the cursor to the arguments of an action."""

from __future__ import annotations

from tui.session import Target, Version


def arguments_from(name: str, target: Target, version: Version | None, *, newest: bool) -> dict[str, object]:
    """What the dialog of `name` starts with. The newest snapshot needs no number."""
    given: dict[str, object] = {}
    if name in ("create-savepoint", "create-tag"):
        if version is not None and version.snapshot_id is not None and not newest:
            given["snapshot"] = version.snapshot_id
        branch = version.branch if version is not None and version.branch else target.branch
        if branch is not None and branch != "main":
            given["branch"] = branch
    if name == "create-branch" and version is not None and version.tag is not None:
        given["tag"] = version.tag
    return given
