"""Tables of a few facts, as HTML for notebooks."""

from collections.abc import Mapping
from html import escape


def facts_table(title: str, facts: Mapping[str, str]) -> str:
    """A table with a caption and a row for each fact that is not empty.

    Examples
    --------
    >>> facts_table("a < b", {"results": "12", "open": ""})
    '<table><caption>a &lt; b</caption><tr><th>results</th><td>12</td></tr></table>'
    """
    rows = "".join(
        f"<tr><th>{escape(name)}</th><td>{escape(words)}</td></tr>"
        for name, words in facts.items()
        if words
    )
    return f"<table><caption>{escape(title)}</caption>{rows}</table>"
