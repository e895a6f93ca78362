"""The settings: warehouse, storage options, engine; from flags, environment and one TOML file.

The file is `$XDG_CONFIG_HOME/paimark/config.toml`:

    default_context = "lab"
    author = "jane"

    [contexts.lab]
    warehouse = "s3://lake/warehouse"
    read_only = true
    spark_master = "local[4]"
    options = { "s3.endpoint" = "http://minio:9000" }
    spark_conf = { "spark.driver.memory" = "4g" }
    start = "shop.orders"

`paimark.tui.app.run` and every command take the resulting `Settings`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from paimark.core.errors import UsageError
from paimark.core.redaction import HidesSecrets, keep_secrets
from paimark.core.regular_files import read_regular
from paimark.core.working_directory import absolute

TRUE_WORDS = frozenset({"1", "true", "yes", "on"})
FALSE_WORDS = frozenset({"", "0", "false", "no", "off"})
_VARIABLES = ("PAIMARK_WAREHOUSE", "PAIMARK_READ_ONLY", "PAIMARK_AUTHOR", "PAIMARK_DEBUG")
# Other variables with this beginning are allowed, for users with several warehouses.
_OF_USERS = ("PAIMARK_WAREHOUSE_",)


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything chosen before a warehouse is opened.

    `warehouse` is an absolute path or a URI with a scheme, `options` are Paimon catalog options. Both may
    hold secrets, so they are never printed. `context` is the config file's name for it, None for none.
    `author` makes the changes; empty for the user of the process.
    `start` is the place that the console opens on, as `paimark.core.travel.place` reads it; empty for none.
    Without it and with `resume`, the console opens at the last place. `keys` are the rebound keys, by the ids
    of their bindings. `flags` are those of the command line, for another context in the same session. With
    `offers_tour` the console asks whether to give a tour of the demo.
    """

    warehouse: str = field(repr=False)
    options: Mapping[str, str] = field(default_factory=dict, repr=False)
    read_only: bool = False
    spark_master: str | None = field(default=None, repr=False)
    spark_conf: Mapping[str, str] = field(default_factory=dict, repr=False)
    context: str | None = None
    author: str = ""
    start: str = ""
    resume: bool = True
    keys: Mapping[str, str] = field(default_factory=dict)
    offers_tour: bool = False
    mouse: bool = False
    commands: Sequence[OwnCommand] = ()
    flags: Flags | None = field(default=None, repr=False)


@dataclass(slots=True)
class Flags:
    """Settings from the command line. None or empty: not given."""

    warehouse: str | None = field(default=None, repr=False)
    context: str | None = None
    options: dict[str, str] = field(default_factory=dict, repr=False)
    read_only: bool = False
    spark_master: str | None = field(default=None, repr=False)
    spark_conf: dict[str, str] = field(default_factory=dict, repr=False)
    start: str | None = None
    mouse: bool = False


class WarehouseContext(HidesSecrets, frozen=True, forbid_unknown_fields=True):
    """One `[contexts.NAME]` of the config file."""

    warehouse: str  # a path or a URI
    options: dict[str, str] = msgspec.field(default_factory=dict)  # storage and catalog options
    read_only: bool = False  # every change is refused
    spark_master: str | None = None  # Spark's master; null: Spark on this machine
    spark_conf: dict[str, str] = msgspec.field(default_factory=dict)  # Spark settings
    start: str = ""  # where the console opens; empty: where it was left


class OwnCommand(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One `[[command]]` of the config file: a program on a key.

    `run` is a program with its arguments, without a shell; `on` is the tab where the key works, empty for
    all; `read_only` says that it changes nothing."""

    key: str  # as Textual names it
    run: str | list[str]  # a program with its arguments; no shell reads it
    description: str = ""  # what the key bar calls it
    on: str = ""  # the tab where the key works; empty: every one
    confirm: bool = True  # it asks first
    read_only: bool = False  # it changes nothing, so read-only mode lets it run


class ConfigFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    default_context: str | None = None  # the context that is taken without `--context`
    author: str = ""  # who makes the changes; empty: the user
    resume: bool = True  # the console opens where it was left
    keys: dict[str, str] = {}  # other keys, by the ids that `paimark keys` lists
    mouse: bool = False  # the console takes the mouse
    command: list[OwnCommand] = []  # programs on keys, each a `[[command]]`
    contexts: dict[str, WarehouseContext] = {}  # the warehouses by name, each a `[contexts.NAME]`


# The expected values of options in words: by the option's name, else by its type.
_KINDS = {bool: "true or false, without quotes", dict[str, str]: 'like { "name" = "value" }, each in quotes'}
_WORDS = {
    "run": "a text in quotes, or a list of them",
    "command": "tables that begin with [[command]], in two brackets",
    "contexts": "tables that begin with [contexts.NAME]",
    "keys": 'a table of lines like "act.savepoint" = "f2"',
}


def config_path(environment: Mapping[str, str] = os.environ) -> Path:
    """The path of the config file, whether or not it exists."""
    home = environment.get("XDG_CONFIG_HOME") or os.path.join(os.path.expanduser("~"), ".config")
    return Path(home) / "paimark" / "config.toml"


def state_directory(environment: Mapping[str, str] = os.environ) -> Path:
    """The directory of the audit log, the engine's log and histories: `$XDG_STATE_HOME/paimark`.

    Without the variable it is `~/.local/state/paimark`, on a Mac `~/Library/Application Support/paimark`.
    """
    home = environment.get("XDG_STATE_HOME")
    if not home and sys.platform == "darwin":
        return Path(os.path.expanduser("~"), "Library", "Application Support", "paimark")
    return Path(home or os.path.join(os.path.expanduser("~"), ".local", "state")) / "paimark"


def cache_directory(environment: Mapping[str, str] = os.environ) -> Path:
    """The directory of files that can be made again: `$XDG_CACHE_HOME/paimark`."""
    home = environment.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(home) / "paimark"


def read_config(path: Path) -> ConfigFile:
    """The config file; an empty one if there is none. Raises `UsageError` naming the path and the fault."""
    try:
        text = read_regular(path).decode()
    except (FileNotFoundError, NotADirectoryError):
        return ConfigFile()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"The config file {path} can't be read: {error}") from error
    import tomllib

    try:
        content = _without_nul(tomllib.loads(text))
        try:
            return msgspec.convert(content, ConfigFile)
        except msgspec.ValidationError as error:
            fault, hint = next(_file_faults(content), (str(error), ""))
            raise UsageError(f"The config file {path} is not as expected: {fault}", hint) from error
    # A number with too many digits raises a `ValueError`; the errors of both libraries are `ValueError`s too.
    except (ValueError, RecursionError) as error:
        raise UsageError(
            f"The config file {path} is not as expected: {error}",
            'It holds `default_context = "NAME"` and tables `[contexts.NAME]` with `warehouse = "..."`.',
        ) from error


def _file_faults(content: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The faults in the file's tables, each with a hint. Values may be secrets, and are never shown."""
    contexts, commands = content.get("contexts"), content.get("command")
    for name, each in contexts.items() if isinstance(contexts, dict) else ():
        yield from _of_table(each, WarehouseContext, f"[contexts.{name}]")
    for number, each in enumerate(commands if isinstance(commands, list) else (), 1):
        yield from _of_table(each, OwnCommand, f"[[command]] number {number}")
    yield from _of_table(content, ConfigFile, "it")


def _of_table(table: Any, kind: type[msgspec.Struct], where: str) -> Iterator[tuple[str, str]]:
    if not isinstance(table, dict):
        yield f"{where} must be a table of options", ""
        return
    fields = {each.name: each for each in msgspec.structs.fields(kind)}
    for name in (name for name in table if name not in fields):
        from difflib import get_close_matches

        near = get_close_matches(name, fields, n=1)
        known = f"There are {', '.join(fields)}."
        yield (
            f"{where} has an option {name!r}, which there is not",
            (f"Did you mean {near[0]!r}?" if near else known),
        )
    for name, each in fields.items():
        if name not in table:
            if each.required:
                yield f"{where} lacks the option {name!r}", ""
            continue
        try:
            msgspec.convert(table[name], each.type)
        except msgspec.ValidationError:
            yield (
                f"{name!r} in {where} must be {_WORDS.get(name, _KINDS.get(each.type, 'a text in quotes'))}",
                "",
            )


def _without_nul(value: dict[str, Any]) -> dict[str, Any]:
    """The value itself. Raises `ValueError`: no path, address or option can contain a NUL."""
    if any("\0" in text for text in _texts(value)):
        raise ValueError("a text in it holds a NUL")
    return value


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, below in value.items():
            yield name
            yield from _texts(below)
    elif isinstance(value, list):
        for below in value:
            yield from _texts(below)


def load_settings(flags: Flags, environment: Mapping[str, str] = os.environ) -> Settings:
    """Combine the settings: flags first, then a named context, the environment, the default context.

    A context's options apply only to its own warehouse, unless it was named with `--context`.
    Raises `UsageError` when no warehouse was named.
    """
    keep_secrets(flags.warehouse or "", flags.options, flags.spark_conf)
    # An unset variable of a script must not lead to another warehouse than the intended one.
    for word in ("warehouse", "context"):
        if (given := getattr(flags, word)) is not None and not given.strip():
            raise UsageError(f"--{word} is empty", "Is the variable set that it comes from?")
    path = config_path(environment)
    config = read_config(path)
    named_warehouse = flags.warehouse or (None if flags.context else environment.get("PAIMARK_WAREHOUSE"))
    name = flags.context or (None if named_warehouse else config.default_context)
    if not (named_warehouse or flags.context):
        _require_names(environment, own=())
    chosen = _context(config, name, path)
    warehouse = named_warehouse or (chosen.warehouse if chosen else None)
    if not warehouse:
        raise UsageError(
            "No warehouse was named",
            "Say `paimark WAREHOUSE`, `--warehouse URI` or PAIMARK_WAREHOUSE, or set default_context in "
            f"{path}; `paimark demo` makes one to try.",
        )
    options = {**(chosen.options if chosen else {}), **flags.options}
    spark_conf = {**(chosen.spark_conf if chosen else {}), **flags.spark_conf}
    spark_master = flags.spark_master or (chosen.spark_master if chosen else None)
    keep_secrets(warehouse, options, spark_conf, {"master": spark_master or ""})
    return Settings(
        warehouse=full_address(warehouse),
        options=options,
        read_only=flags.read_only or read_only_environment(environment) or bool(chosen and chosen.read_only),
        spark_master=spark_master,
        spark_conf=spark_conf,
        context=name if chosen else None,
        author=environment.get("PAIMARK_AUTHOR") or config.author,
        start=flags.start or (chosen.start if chosen and not named_warehouse else ""),
        resume=config.resume,
        keys=config.keys,
        mouse=flags.mouse or config.mouse,
        commands=config.command,
        flags=flags,
    )


def read_only_environment(environment: Mapping[str, str] = os.environ) -> bool:
    """Whether PAIMARK_READ_ONLY is on. Raises `UsageError` for a word that is neither yes nor no."""
    _require_names(environment)
    word = environment.get("PAIMARK_READ_ONLY", "").strip().lower()
    if word not in TRUE_WORDS | FALSE_WORDS:
        raise UsageError(f"PAIMARK_READ_ONLY is {word!r}", "Set it to 1 or 0.")
    return word in TRUE_WORDS


def _require_names(environment: Mapping[str, str], own: tuple[str, ...] = _OF_USERS) -> None:
    """Raises `UsageError` for a misspelled variable of Paimark: PAIMARK_READONLY would refuse nothing.

    Variables that begin with one of `own` belong to the user.
    """
    for name in environment:
        if name.upper().startswith("PAIMARK_") and name not in _VARIABLES and not name.startswith(own):
            from difflib import get_close_matches

            if near := get_close_matches(name.upper(), _VARIABLES, n=1, cutoff=0.8):
                raise UsageError(f"There is no variable {name}", f"Did you mean {near[0]}?")


def _context(config: ConfigFile, name: str | None, path: Path) -> WarehouseContext | None:
    if name is None:
        return None
    if name in config.contexts:
        return config.contexts[name]
    from difflib import get_close_matches

    near = get_close_matches(name, config.contexts, n=1)
    known = ", ".join(sorted(config.contexts)) or "none"
    raise UsageError(
        f"There is no context {name!r} in {path}",
        f"Did you mean {near[0]!r}?" if near else f"Contexts there: {known}.",
    )


def full_address(warehouse: str) -> str:
    """An absolute path, `~` resolved, or the URI unchanged.

    A catalog's `jdbc:` is no path: whoever opens the warehouse refuses it.
    """
    if warehouse.startswith("file:"):
        return os.path.abspath("/" + warehouse.removeprefix("file:").lstrip("/"))
    if "://" in warehouse or warehouse.lower().startswith("jdbc:"):
        return warehouse
    return absolute(os.path.expanduser(warehouse))
