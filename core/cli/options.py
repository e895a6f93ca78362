"""The global options: every command takes the same ones, before and after its name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from paimark.core.actions.declared.declaration import NOTE
from paimark.core.config import Flags, Settings, config_path, load_settings, read_config
from paimark.core.errors import PaimarkError, UsageError


@dataclass(slots=True)
class GlobalOptions(Flags):
    """The global options of a run. A later one wins; repeatable ones are collected."""

    output: str = "table"
    yes: bool = False
    dry_run: bool = False
    verbose: bool = False
    plan_out: Path | None = None

    @property
    def as_json(self) -> bool:
        return self.output == "json"

    def settings(self) -> Settings:
        """Raises `UsageError` when no warehouse was named or the config file is faulty."""
        return load_settings(self)


class AtLeast(click.IntRange):
    """A whole number that is at least `min`; click says of another one that it is no "integer range"."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        with suppress(click.BadParameter):
            return int(super().convert(value, param, ctx))
        self.fail(f"{value} is no whole number of {self.min} or more", param, ctx)


def takes_note(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command that is no action the options of a note."""
    for each in reversed(NOTE):
        command = click.option(each.option, metavar=each.name.upper(), help=each.help)(command)
    return command


def key_value(text: str) -> tuple[str, str]:
    """Parse `key=value`; the value may contain further `=`."""
    key, equals, value = text.partition("=")
    if not key.strip() or not equals:
        raise click.BadParameter("it is not of the form key=value")
    return key, value


def global_options(ctx: click.Context) -> GlobalOptions:
    """The global options of this run."""
    return ctx.find_root().ensure_object(GlobalOptions)


def _remember(ctx: click.Context, param: click.Parameter, value: Any) -> None:
    name = param.name or ""
    if ctx.get_parameter_source(name) is not ParameterSource.COMMANDLINE:
        return
    options = global_options(ctx)
    if isinstance(collected := getattr(options, name), dict):
        collected.update(value)
    else:
        setattr(options, name, value)


def _contexts(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Those that a shell offers; none if the config file can't be read."""
    with suppress(PaimarkError):
        return [name for name in read_config(config_path()).contexts if name.startswith(incomplete)]
    return []


def _option(*words: str, **settings: Any) -> click.Option:
    return click.Option(words, expose_value=False, callback=_remember, **settings)


GLOBAL_OPTIONS: tuple[click.Option, ...] = (
    _option("--warehouse", metavar="URI", help="A path or a URI; else PAIMARK_WAREHOUSE or the config file."),
    _option("--context", metavar="NAME", help="A context of the config file.", shell_complete=_contexts),
    _option(
        "--option",
        "options",
        type=key_value,
        multiple=True,
        metavar="K=V",
        help="A storage or catalog option.",
    ),
    _option("--output", type=click.Choice(["table", "json"]), help="How rows are printed (table)."),
    _option("--read-only", is_flag=True, help="Refuse every change; also PAIMARK_READ_ONLY=1."),
    _option("--yes", is_flag=True, help="Do not ask before a change by which something is lost."),
    _option("--dry-run", is_flag=True, help="Print the plan of a change and write nothing."),
    _option("--verbose", is_flag=True, help="Show each step of a plan."),
    _option(
        "--plan-out",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="Save the plan of a change for `paimark apply`, and do not apply it now.",
    ),
    _option("--mouse", is_flag=True, help="The console takes the mouse; M switches it."),
    _option("--spark-master", metavar="URL", help="Spark's master (local)."),
    _option("--spark-conf", type=key_value, multiple=True, metavar="K=V", help="A Spark setting."),
)


def require_filled(params: Iterable[click.Parameter], values: Mapping[str, Any]) -> None:
    """Raises `UsageError` that names an option or argument with a blank value: an unset variable of a script.

    Without it a default would take effect, such as another layout, or the current directory.
    """
    for param in params:
        value = values.get(param.name or "")
        for each in value if isinstance(value, list | tuple) else (value,):
            if isinstance(each, str) and not each.strip():
                raise UsageError(f"{_name_of(param)} is empty", "Is the variable set that it comes from?")


def _name_of(param: click.Parameter) -> str:
    """As the help writes it: `--branch`, `TABLE`."""
    if isinstance(param, click.Option):
        return max(param.opts, key=len)
    return str(param.metavar).strip("[].")


# The commands that open it.
_CONSOLES = ("open", "demo")
_EVERYWHERE = "Everywhere, before or after the command (given twice, the later counts)"


class GlobalCommand(click.Command):
    """A command that takes the global options too."""

    def __init__(self, *args: Any, makes_plans: bool = False, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.params.extend(GLOBAL_OPTIONS)
        self._makes_plans = makes_plans

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not ctx.resilient_parsing:
            self._require_valid_values(ctx, args)
        return super().parse_args(ctx, args)

    def _require_valid_values(self, ctx: click.Context, args: list[str]) -> None:
        """Refuse a blank value, and an option of this command that is given twice; click would take the last.

        Raises `UsageError`. A later global option is meant to win: an alias may contain the first.
        """
        values, _, params = self.make_parser(ctx).parse_args(list(args))
        require_filled(params, values)
        for param, times in Counter(params).items():
            if not isinstance(param, click.Option) or param in GLOBAL_OPTIONS:
                continue
            if times > 1 and not (param.multiple or param.is_flag):
                raise UsageError(f"{param.opts[0]} is given {times} times", "Leave one of them.")

    def refuses(self, name: str) -> bool:
        """Whether a global option could have no effect here."""
        return (name == "plan_out" and not self._makes_plans) or (
            name == "mouse" and self.name not in _CONSOLES
        )

    def invoke(self, ctx: click.Context) -> Any:
        if global_options(ctx).plan_out is not None and self.refuses("plan_out"):
            raise UsageError(
                f"`paimark {self.name}` makes no plan to save", "--plan-out goes with an action."
            )
        if global_options(ctx).mouse and self.refuses("mouse"):
            raise UsageError(f"`paimark {self.name}` opens no console", "--mouse goes without a command.")
        return super().invoke(ctx)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        write_options(self, ctx, formatter)


def write_options(command: click.Command, ctx: click.Context, formatter: click.HelpFormatter) -> None:
    """The command's own options; the global ones in full for `paimark` alone, elsewhere by name."""
    own = [param for param in command.get_params(ctx) if param not in GLOBAL_OPTIONS]
    _section(ctx, formatter, "Options", own)
    if not isinstance(command, GlobalCommand):
        _section(ctx, formatter, _EVERYWHERE, GLOBAL_OPTIONS)
        return
    taken = (each.opts[0] for each in GLOBAL_OPTIONS if not command.refuses(each.name or ""))
    formatter.write_paragraph()
    with formatter.indentation():
        formatter.write_text(f"{_EVERYWHERE}: {', '.join(taken)}. `paimark --help` explains them.")


def _section(
    ctx: click.Context, formatter: click.HelpFormatter, title: str, params: Iterable[click.Parameter]
) -> None:
    records = [param.get_help_record(ctx) for param in params if isinstance(param, click.Option)]
    if rows := [record for record in records if record]:
        with formatter.section(title):
            formatter.write_dl(rows)
