"""`paimark keys`: the keys that the config file can rebind."""

from __future__ import annotations

import importlib

import click

from paimark.core.cli.options import GlobalCommand, global_options
from paimark.core.cli.output import print_rows
from paimark.core.config import config_path, read_config


@click.command(cls=GlobalCommand)
@click.pass_context
def keys(ctx: click.Context) -> None:
    """The console's keys with their ids, which `[keys]` of the config file gives other keys."""
    # The console's package is not below the command's, so it is imported by name.
    console = importlib.import_module("paimark.tui.app")
    print_rows(global_options(ctx), ("id", "keys", "does"), console.key_rows(read_config(config_path()).keys))
