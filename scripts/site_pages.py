"""Pages that the site makes of other files: reference, commands, notebooks, benchmarks.

MkDocs calls the functions ``on_...`` of this module while it builds the site.
"""

from __future__ import annotations

import csv
import io
import json
import posixpath
import re
import sys
from base64 import b64decode
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from textwrap import fill
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "scripts"))  # MkDocs loads this file by its path

from site_reference import module_reference  # noqa: E402

HISTORY = ROOT / "benchmarks" / "history.csv"
PLAIN = ROOT / "benchmarks" / "plain.csv"
_SOURCE = re.compile(r"^\[Source\]\((?:\.\./)+([^)]+)\)$", flags=re.M)
_NOTEBOOK = re.compile(r"(\]\([\w./-]+)\.ipynb\)")
_UPWARD = re.compile(r"\]\(((?:\.\./)+[^)\s]+)\)")

Made = tuple[str, str | bytes]
"""The path of a file of the site, and its content."""


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages of the notebooks, and the picture of the benchmarks."""
    for path, content in (*notebook_pages(), *benchmark_files()):
        files.append(File.generated(config, path, content=content))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, **_: object) -> str:
    """Show what is made of a source in place of the link to it, and let the other links work.

    A link that works in a checkout leads here to the page of a notebook, or to the repository.
    """
    if page.file.src_uri == "gallery/index.md":
        markdown = as_cards(markdown)
    markdown = _SOURCE.sub(lambda link: made_of(link[1]), markdown)
    markdown = _NOTEBOOK.sub(r"\1.md)", markdown)
    folder, repository = posixpath.dirname(page.file.src_uri), f"{config.repo_url}/blob/main"
    return _UPWARD.sub(lambda link: f"]({_reached(link[1], folder, repository)})", markdown)


def _reached(link: str, folder: str, repository: str) -> str:
    """The link itself, or the address in the repository of a file outside ``docs``."""
    target = posixpath.normpath(posixpath.join(folder, link))
    outside = target.removeprefix("../")
    return link if outside == target else f"{repository}/{outside}"


def made_of(source: str) -> str:
    """What the site shows of a file or a package of the checkout."""
    match source:
        case "benchmarks/history.csv":
            return f"![Each recorded ratio by commit](../{PICTURE})\n\n{latest_ratios(_history())}"
        case "benchmarks/plain.py":
            return plain_worlds()
        case "src/heliotrope/cli":
            return commands()
        case _:
            return module_reference(source)


def on_post_page(output: str, **_: object) -> str:
    """Correct the theme: it would ask GitHub about the repository, and its search has no name."""
    output = output.replace(' data-md-component="source"', "")
    return output.replace('role="dialog">', 'role="dialog" aria-label="Search">')


# ---- the command line


def commands() -> str:
    """The options of every command, as its ``--help`` says."""
    import click
    import typer

    from heliotrope.cli import app

    root: Any = typer.main.get_command(app)
    context = click.Context(root, info_name="heliotrope")
    return _section(root, context)


def _section(command: Any, context: Any) -> str:
    text = f"## {context.command_path}\n\n{command.help or ''}\n\n{_options(command)}\n"
    names = command.list_commands(context) if hasattr(command, "list_commands") else ()
    for name in names:
        child = command.get_command(context, name)
        text += _section(child, type(context)(child, info_name=name, parent=context))
    return text


def _options(command: Any) -> str:
    rows = [_option(one) for one in command.params if one.name != "help" and not _is_hidden(one)]
    return (
        "\n".join(["| argument or option | meaning |", "|---|---|", *rows]) + "\n" if rows else ""
    )


def _is_hidden(option: Any) -> bool:
    return bool(getattr(option, "hidden", False))


def _option(option: Any) -> str:
    is_argument = option.param_type_name == "argument"
    spelled = [option.name.upper()] if is_argument else [*option.opts, *option.secondary_opts]
    default = option.default
    is_plain = default is None or default is False or default in ((), []) or callable(default)
    shown = "" if is_plain else f" Default: `{default}`."
    said = (getattr(option, "help", None) or "").replace("|", "\\|")
    return f"| {', '.join(f'`{one}`{{ .option }}' for one in spelled)} | {said}{shown} |"


# ---- the notebooks


def notebook_pages() -> Iterator[Made]:
    """A page for each notebook of the gallery, with its pictures as files."""
    for path in sorted((ROOT / "docs" / "gallery").glob("*.ipynb")):
        parts, pictures = [], 0
        for cell in json.loads(path.read_text())["cells"]:
            source = "".join(cell["source"])
            parts.append(source if cell["cell_type"] == "markdown" else f"```python\n{source}\n```")
            for output in cell.get("outputs", ()):
                picture = output.get("data", {}).get("image/png")
                if picture:
                    pictures += 1
                    name = f"{path.stem}-{pictures}.png"
                    yield f"gallery/{name}", b64decode("".join(picture))
                    parts.append(f"![{_title_of(cell)}]({name})")
                else:
                    parts.append(f"```text\n{_text_of(output).rstrip()}\n```")
        yield f"gallery/{path.stem}.md", "\n\n".join(parts) + "\n"


_ROW = re.compile(r"^\| \[(.+?)\]\((\w+)\.ipynb\) \| (.+) \|$", flags=re.M)

_CARD = """-   [![{0}]({1}-1.png)]({1}.md)

    **[{0}]({1}.md)**

    {2}
"""


def as_cards(markdown: str) -> str:
    """The table of notebooks as cards, each with the first picture of its notebook."""
    text, *_ = markdown.partition("| notebook |")
    cards = "\n".join(_CARD.format(*row) for row in _ROW.findall(markdown))
    return f'{text}<div class="grid cards" markdown>\n\n{cards}\n</div>\n'


def _title_of(cell: dict[str, Any]) -> str:
    """What a picture shows: the cell's metadata say it, for readers who do not see it."""
    return str(cell["metadata"].get("alt", "The picture that this code draws"))


def _text_of(output: dict[str, Any]) -> str:
    return "".join(output.get("text", ()) or output.get("data", {}).get("text/plain", ()))


# ---- the benchmarks over time


PICTURE = "images/benchmarks.svg"


def benchmark_files() -> Iterator[Made]:
    """The ratios that ``make bench`` has recorded, as a picture."""
    yield PICTURE, _picture(_history())


def _history() -> list[dict[str, str]]:
    with HISTORY.open() as file:
        return list(csv.DictReader(file))


def latest_ratios(rows: list[dict[str, str]]) -> str:
    """A table of the latest value of each ratio."""
    latest = {row["figure"]: row for row in rows}
    lines = [
        f"| {row['figure']} | {row['value']} | {row['holds']} | {row['date']}, {row['commit']} |"
        for row in latest.values()
    ]
    return "\n".join(["| claim | measured | holds | when |", "|---|---|---|---|", *lines])


def plain_worlds() -> str:
    """The table that ``python -m benchmarks plain`` has recorded."""
    if not PLAIN.exists():
        return "No run is recorded in `benchmarks/plain.csv`."
    header, *rows = list(csv.reader(PLAIN.read_text().splitlines()))
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


_GREY = "#7a8089"  # readable on white and on black
_RED = "#d03b3b"


def _picture(rows: list[dict[str, str]]) -> bytes:
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib.figure import Figure

    series: dict[str, list[dict[str, str]]] = defaultdict(list)
    for row in rows:
        series[row["figure"]].append(row)
    with mpl.rc_context(
        {"text.color": _GREY, "axes.edgecolor": _GREY, "xtick.color": _GREY, "ytick.color": _GREY}
    ):
        figure = Figure(figsize=(5, 1.9 * len(series)), layout="constrained")  # fits a phone
        columns = figure.subplots(len(series), squeeze=False)[:, 0]
        for axes, (name, points) in zip(columns, series.items(), strict=True):
            _draw(axes, points)
            axes.set_title(fill(name, 52), fontsize=10, loc="left")
        picture = io.BytesIO()
        figure.savefig(picture, format="svg", metadata={"Date": None}, transparent=True)
    return picture.getvalue()


def _draw(axes: Any, points: list[dict[str, str]]) -> None:
    """One ratio by commit; red where its claim does not hold."""
    values = [float(row["value"]) for row in points]
    places = range(len(points))
    axes.plot(places, values, "-", color="tab:blue")
    colours = [_RED if row["holds"] == "no" else "tab:blue" for row in points]
    axes.scatter(places, values, color=colours, zorder=3)
    for place, row in zip(places, points, strict=True):
        offset = {"xytext": (0, 6), "textcoords": "offset points", "ha": "center"}
        axes.annotate(row["value"], (place, float(row["value"])), fontsize=9, **offset)
    axes.set_xticks(places, [f"{row['commit']}\n{row['date']}" for row in points], fontsize=9)
    axes.set_xlim(-0.5, max(len(points) - 0.5, 1.5))
    axes.set_ylim(0, 1.35 * max(values))
    axes.set_facecolor("none")
    axes.grid(alpha=0.3)
