"""What a sentence of the product must tell, without its wording, which may become better at any time."""

from __future__ import annotations

import re


def about(*terms: object) -> re.Pattern[str]:
    """A pattern for `pytest.raises(match=)`, or `search`: a text that has all the terms, in any order.

    Terms are what the reader needs of the sentence: names, numbers, commands, options, and the word or two of
    the glossary that tell it from others. Upper and lower case are alike, and a term is a whole word: `4` is
    not in `40`, `tag` is not in `tags`, `expir*` is in `expired`.
    """
    return re.compile("(?is)" + "".join(f"(?=.*{_whole(str(term))})" for term in terms))


def _whole(term: str) -> str:
    text = re.escape(term.removesuffix("*"))
    start = r"(?<!\w)" if term[:1].isalnum() else ""
    end = r"(?!\w)" if term[-1:].isalnum() else ""
    return start + text.replace(r"\ ", r"\s+") + end
