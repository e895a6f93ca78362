"""The tokens of a Spark SQL statement, with their positions.

As Spark 4.1's lexer, with one difference: a plain word may contain `$`, so that `orders$snapshots` is one
name. Comments and white space are left out; a hint's `/*+` and `*/` are symbols. Nothing is refused here:
a string or a name without its last quote is one token.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple, get_args

TokenKind = Literal["word", "quoted", "string", "number", "symbol"]
_KINDS: dict[str | None, TokenKind] = {kind: kind for kind in get_args(TokenKind)}


class Token(NamedTuple):
    """`text` is as written; `start` and `end` are character offsets in the statement."""

    kind: TokenKind
    text: str
    start: int
    end: int

    @property
    def upper(self) -> str:
        """The word in upper case, to compare with keywords; empty for other kinds of token."""
        return self.text.upper() if self.kind == "word" else ""

    @property
    def is_name(self) -> bool:
        return self.kind in ("word", "quoted")

    @property
    def is_closed(self) -> bool:
        """False for a string or a quoted name without its last quote."""
        pattern = _CLOSED.get(self.kind)
        return pattern is None or pattern.fullmatch(self.text) is not None

    @property
    def value(self) -> str:
        """The value of a name or a string, without its quotes and escapes."""
        if self.kind == "quoted":
            return self.text[1:].removesuffix("`").replace("``", "`")
        if self.kind == "string":
            return _string_value(self.text)
        return self.text


def keywords(text: str) -> frozenset[str]:
    """A set of keywords or symbols, written with spaces between them."""
    return frozenset(text.split())


_TOKEN = re.compile(
    r"""
      (?P<space>   [\s\u00a0\u1680\u2000-\u200a\u2028\u202f\u205f\u3000]+ | --(?:\\\n|[^\r\n])* )
    | (?P<string>  [rR]'[^']*'? | '(?:[^'\\]|\\.|'')*(?:'|\\?\Z)
                 | [rR]"[^"]*"? | "(?:[^"\\]|\\.|"")*(?:"|\\?\Z) )
    | (?P<quoted>  `(?:[^`]|``)*(?:`|\Z) )
    | (?P<number>  (?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?(?:BD|[LSYFD])?(?![\w$]) )
    | (?P<word>    [\w$]+ )
    | (?P<symbol>  /\*\+ | <=> | == | <= | >= | <> | != | \|\| | \|> | :: | -> | => | << | >> | . )
    """,
    re.VERBOSE | re.DOTALL | re.IGNORECASE,
)
_CLOSED = {
    "quoted": re.compile(r"`(?:[^`]|``)*`"),
    "string": re.compile(
        r"""[rR]'[^']*' | '(?:[^'\\]|\\.|'')*' | [rR]"[^"]*" | "(?:[^"\\]|\\.|"")*" """,
        re.VERBOSE | re.DOTALL,
    ),
}
# As in Spark, `/*+` opens nothing within a comment.
_COMMENT_EDGE = re.compile(r"/\*(?!\+)|\*/")


def tokenize(sql: str) -> list[Token]:
    return list(iter_tokens(sql))


def iter_tokens(sql: str) -> Iterator[Token]:
    """As `tokenize`, lazily."""
    last: Token | None = None
    position = 0
    in_hint = False
    while position < len(sql):
        if sql.startswith("/*", position) and not sql.startswith("/*+", position):
            position = _comment_end(sql, position)
            continue
        if in_hint and sql.startswith("*/", position):
            yield (last := Token("symbol", "*/", position, position + 2))
            in_hint = False
            position += 2
            continue
        match = _TOKEN.match(sql, position)
        # Every character is matched by the last alternative.
        assert match is not None
        text = match.group()
        kind = _KINDS.get(match.lastgroup)
        if kind == "number" and text.startswith(".") and last and _touches_name(last, position):
            # In `db.2024_t` the dot separates the parts of a name; it doesn't begin a fraction.
            kind, text = "symbol", "."
        if kind is not None:
            yield (last := Token(kind, text, position, position + len(text)))
        in_hint = in_hint or text == "/*+"
        position += len(text)


def _touches_name(token: Token, position: int) -> bool:
    return token.end == position and (token.is_name or token.text in (")", "]"))


def _comment_end(sql: str, position: int) -> int:
    """The end of the comment that opens here. Comments nest."""
    depth = 0
    for edge in _COMMENT_EDGE.finditer(sql, position):
        depth += 1 if edge.group() == "/*" else -1
        if depth == 0:
            return edge.end()
    return len(sql)


_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-3][0-7]{2})|(.))", re.DOTALL)
_ESCAPED = {"0": "\0", "b": "\b", "n": "\n", "r": "\r", "t": "\t", "Z": "\x1a", "%": "\\%", "_": "\\_"}


def _string_value(text: str) -> str:
    if text[0] in "rR":
        return text[2:].removesuffix(text[1])
    quote = text[0]
    body = text[1:-1] if len(text) > 1 and text.endswith(quote) else text[1:]
    value = _ESCAPE.sub(_unescaped, body.replace(quote * 2, quote))
    # As in Java, two escaped surrogates are one character.
    return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


def _unescaped(escape: re.Match[str]) -> str:
    four, eight, octal, other = escape.groups()
    code = int(four or eight or "0", 16) if four or eight else int(octal, 8) if octal else None
    if code is not None:
        return chr(code) if code <= 0x10FFFF else "\ufffd"
    return _ESCAPED.get(other, other)
