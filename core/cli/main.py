"""The edge of the program: it takes words and returns an exit code, and never shows a traceback.

The path that opens the console imports no click, so that the console starts quickly.
"""

from __future__ import annotations

import codecs
import errno
import io
import os
import sys
from typing import NoReturn

# Nothing else is imported here, so that ctrl+c during the other imports also gives a sentence.
INTERRUPTED = 130
# Signs of ours, in one character each: columns keep their width.
_SIGNS = {"…": "~", "─": "-", "·": "-", "›": ">", "✓": "+", "✗": "x", "●": "*", "○": "o", "→": ">"}
# The errors of writing to a stream on a full or broken disk, or to a lost terminal.
_STREAM_FAULTS = (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.ENXIO, errno.EFBIG)


def main() -> NoReturn:
    """The `paimark` script."""
    try:
        _open_closed_streams()
        codecs.register_error("readable", _readable)
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                # A character that the terminal's encoding lacks must not stop the output.
                stream.reconfigure(errors="readable")
        code = run(sys.argv[1:])
    except KeyboardInterrupt:
        print("paimark: Interrupted", file=sys.stderr)
        code = INTERRUPTED
    sys.exit(code)


def _readable(error: UnicodeError) -> tuple[str, int]:
    """Our signs as the nearest ASCII character, those of data as `\\u00e9`: with `?` they would be lost."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = error.object[error.start : error.end]
    plain = "".join(_SIGNS.get(each, each) for each in text)
    return plain.encode("ascii", "backslashreplace").decode(), error.end


def run(words: list[str]) -> int:
    """Run one command. Codes: 0 done, 1 refused or failed, 2 usage, 3 not available, 130 interrupted."""
    from paimark.core.errors import PaimarkError

    try:
        code = _dispatch(words)
        sys.stdout.flush()
        is_lost = isinstance(sys.stdout, _NoOutput) and sys.stdout.is_lost
        return _after_loss(words, code) if is_lost else code
    except PaimarkError as error:
        return _complain(error.message, error.hint, error.exit_code, error, error.label)
    except KeyboardInterrupt as error:
        return _complain("Interrupted", "", INTERRUPTED, error)
    except BrokenPipeError:
        # The reader of the output has closed it (`| head`).
        _give_up_stdout()
        return 0
    except OSError as error:
        if error.filename is not None or error.errno not in _STREAM_FAULTS:
            return _own_fault(error)
        _give_up_stdout()
        return _complain(f"The output could not be written: {error.strerror}", _what_is_done(words), 1, error)
    except Exception as error:  # the edge of the process: for any error a person gets a sentence
        return _own_fault(error)


class _NoOutput(io.TextIOWrapper):
    """Stands for a closed stdout: it loses what is written, and remembers that it did."""

    is_lost = False

    def write(self, text: str) -> int:
        self.is_lost = self.is_lost or bool(text)
        return super().write(text)


def _what_is_done(words: list[str]) -> str:
    """A hint about the effect of a command whose output is lost."""
    from paimark.core.cli.root import only_reads

    if only_reads(words):
        return "Nothing was changed."
    return "What the command did is done all the same: look before you run it again."


def _after_loss(words: list[str], code: int) -> int:
    """The exit code of a command whose output was lost, as stdout was closed.

    A job that closes it for an action does not want its row.
    """
    from paimark.core.cli.root import only_changes

    if only_changes(words):
        return code
    return _complain("The output could not be written: stdout is closed", _what_is_done(words), 1, None)


def _open_closed_streams() -> None:
    """Open /dev/null for each closed standard stream (`>&-`); else the next opened file gets its number.

    Libraries and child processes would then write their output into that file, and it may be a table's file.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            # `open` takes the lowest free number, which is this one; child processes inherit it.
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
            setattr(sys, name, _stand_in(number))


def _stand_in(number: int) -> io.TextIOWrapper:
    if number == 1:
        return _NoOutput(open(number, "wb"), encoding="utf-8")
    return open(number, "w" if number else "r", encoding="utf-8")


def _give_up_stdout() -> None:
    from paimark.core.cli.output import give_up

    give_up(sys.stdout)


def _own_fault(error: Exception) -> int:
    return _complain(
        f"This is a fault of paimark's own: {type(error).__name__}: {error}",
        "PAIMARK_DEBUG=1 shows where it happened.",
        1,
        error,
    )


def _dispatch(words: list[str]) -> int:
    if "_PAIMARK_COMPLETE" in os.environ:
        # A shell asks for completions; the words are in its environment.
        return _click(words)
    if not words or (len(words) == 1 and "/" in words[0] and not words[0].startswith("-")):
        from paimark.core.cli.launch import open_console
        from paimark.core.config import Flags, load_settings

        flags = Flags()
        if words:
            from paimark.core.cli.places import go_to

            go_to(words[0], flags)
        return open_console(load_settings(flags))
    return _click(words)


def _click(words: list[str]) -> int:
    import click

    from paimark.core.cli.root import invoke, root
    from paimark.core.errors import UsageError

    if "_PAIMARK_COMPLETE" in os.environ:
        root.main(words, prog_name="paimark")
    try:
        return invoke(words)
    except click.Abort as error:
        raise KeyboardInterrupt from error
    except click.ClickException as error:
        if isinstance(error, click.UsageError) and error.ctx:
            path = error.ctx.command_path
        else:
            # Click does not name the command whose option lacks its argument.
            commands = root.list_commands(click.Context(root))
            path = " ".join(["paimark", *(word for word in words if word in commands)][:2])
        raise UsageError(
            error.format_message().rstrip("."), f"`{path} --help` says what it takes."
        ) from error


def _complain(message: str, hint: str, code: int, error: BaseException | None, label: str = "paimark") -> int:
    from paimark.core.cli.output import narrate, tell
    from paimark.core.redaction import redacted

    if error is not None and os.environ.get("PAIMARK_DEBUG"):
        import traceback

        tell(redacted("".join(traceback.format_exception(error))))
    narrate(f"{label}: {message}")
    if hint:
        narrate(f"  {hint}")
    return code
