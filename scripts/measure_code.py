"""Print the size and shape of the package: files, functions, classes, names, product and lab.

``python scripts/measure_code.py [SRC ...]`` prints one column for each source folder, so that two
checkouts can be compared. The default is this checkout. ``--twice`` also lists the names that the
last folder defines twice.

A file whose first line says "generated" is counted apart, with its functions and classes. "Code
lines" are lines of the product without blanks, comments and docstrings. "Code lines, reformatted"
are the same after each statement was written on one line, so that they do not depend on how the
code is wrapped. Imports for type checks count as imports.
"""

from __future__ import annotations

import ast
import io
import sys
import tokenize
from collections import defaultdict
from collections.abc import Collection, Iterator
from pathlib import Path
from statistics import median, quantiles

_LAB = (  # paths of the lab, in this and in earlier versions
    "lab",
    "environments",
    "experiments",
    "theory",
    "demo.py",
    "cli/bounds.py",
    "cli/demo.py",
    "cli/league.py",
    "cli/replay.py",
    "cli/reproduce.py",
    "learning/validation.py",
    "logs/layouts.py",
    "logs/log.py",
    "logs/places.py",
    "logs/times.py",
    "logs/__init__.py",
)
_LONG_CLASSES = (200, 150)  # lines
_SMALL_FILE = 50  # lines
_STATEFUL = ("study", "tracker", "tracker.py")
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_TYPE_VARIABLES = ("TypeVar", "ParamSpec")
_BARE = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT}
_BARE |= {tokenize.ENDMARKER}

Trees = dict[Path, ast.Module]


def parse(package: Path) -> Trees:
    """The syntax trees of a package's modules."""
    return {path: ast.parse(path.read_text()) for path in sorted(package.rglob("*.py"))}


def measure(package: Path) -> dict[str, object]:
    """The figures of one package, by name."""
    trees = parse(package)
    lines = {path: len(path.read_text().splitlines()) for path in trees}
    product = [path for path in trees if not _is_lab(path.relative_to(package))]
    generated = [path for path in product if is_generated(path.read_text())]
    written = [path for path in product if path not in generated]
    by_hand = [path for path in trees if path not in generated]
    nodes = [node for path in by_hand for node in ast.walk(trees[path])]
    functions = sorted(_length(node) for node in nodes if isinstance(node, _FUNCTIONS))
    classes = [node for node in nodes if isinstance(node, ast.ClassDef)]
    sizes = [lines[path] for path in by_hand]
    return {
        "files": len(lines),
        "files of study and tracker": sum(
            _is_in(path.relative_to(package), _STATEFUL) for path in trees
        ),
        "file median/longest": f"{median(sizes):.0f}/{max(sizes)}",
        "files under 50 lines that one file imports": _summary(
            small_with_one_importer(package, trees)
        ),
        "function median/p90/longest": (
            f"{median(functions):.0f}/{quantiles(functions, n=10)[-1]:.0f}/{functions[-1]}"
        ),
        **{
            f"classes over {limit} lines": _summary([c.name for c in classes if _length(c) > limit])
            for limit in _LONG_CLASSES
        },
        "names at the top": len(_top_names(trees[package / "__init__.py"])),
        "names defined twice": _summary(defined_twice(package, trees)),
        "lines of the product": sum(lines[path] for path in product),
        "code lines": sum(code_lines(path.read_text()) for path in written),
        "code lines of generated files": sum(code_lines(path.read_text()) for path in generated),
        "code lines, reformatted": sum(code_lines(ast.unparse(trees[path])) for path in written),
        "lines of generated files": sum(lines[path] for path in generated),
        "lines of the lab": sum(lines.values()) - sum(lines[path] for path in product),
    }


def code_lines(text: str) -> int:
    """Number of lines of a module that are not blank, a comment or part of a docstring."""
    used = set[int]()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in _BARE:
            used.update(range(token.start[0], token.end[0] + 1))
    return len(used - _lines_of_docstrings(ast.parse(text)))


def _lines_of_docstrings(tree: ast.Module) -> set[int]:
    """Lines of all texts that are statements: docstrings, also of names."""
    return {
        line
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }


def is_generated(text: str) -> bool:
    """Whether the first line says that a script writes the file."""
    return "generated" in text.partition("\n")[0].lower()


def small_with_one_importer(package: Path, trees: Trees) -> list[str]:
    """Files under 50 lines that exactly one other file of the package imports, without facades."""
    modules = {_module(package, path): path for path in trees}
    importers = defaultdict(set)
    for path, tree in trees.items():
        for name in _imported(tree):
            if name in modules and modules[name] != path:
                importers[modules[name]].add(path)
    return [
        _module(package, path)
        for path, users in sorted(importers.items())
        if len(users) == 1
        and path.name != "__init__.py"
        and len(path.read_text().splitlines()) < _SMALL_FILE
    ]


def _module(package: Path, path: Path) -> str:
    """The name of a file's module; that of a package for its ``__init__.py``."""
    parts = path.relative_to(package.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _imported(tree: ast.Module) -> Iterator[str]:
    """Names that may be modules: all that are imported, at the top or within functions."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def defined_twice(package: Path, trees: Trees) -> dict[str, list[str]]:
    """Public classes, functions, aliases and constants of several modules, with those modules."""
    homes = defaultdict(list)
    for path, tree in trees.items():
        for name in dict.fromkeys(_definitions(tree)):
            if not name.startswith("_"):
                homes[name].append(str(path.relative_to(package)))
    return {name: found for name, found in sorted(homes.items()) if len(found) > 1}


def _definitions(tree: ast.Module) -> Iterator[str]:
    """Names that a module defines at its top level, except type variables."""
    for node in tree.body:
        if isinstance(node, (ast.ClassDef, *_FUNCTIONS)):
            yield node.name
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield node.target.id
        elif isinstance(node, ast.Assign) and not _is_type_variable(node.value):
            parts = [part for target in node.targets for part in ast.walk(target)]
            yield from (part.id for part in parts if isinstance(part, ast.Name))


def _is_type_variable(value: ast.expr) -> bool:
    return (
        isinstance(value, ast.Call)
        and isinstance(value.func, ast.Name)
        and value.func.id in _TYPE_VARIABLES
    )


def _length(node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


def _is_lab(path: Path) -> bool:
    return _is_in(path, _LAB)


def _is_in(path: Path, parts: Collection[str]) -> bool:
    return any(path.is_relative_to(part) for part in parts)


def _top_names(tree: ast.Module) -> set[str]:
    """Names that the package re-exports from its submodules (``X as X``)."""
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    own = [node for node in imports if (node.module or "").startswith("heliotrope.")]
    return {alias.name for node in own for alias in node.names if alias.asname}


def _summary(names: Collection[str]) -> str:
    first = ", ".join(list(names)[:4])
    return f"{len(names)} ({first}...)" if names else "0"


def main() -> None:
    """Print a row for each figure, with a column for each folder."""
    given = [Path(argument) for argument in sys.argv[1:] if not argument.startswith("--")]
    folders = given or [Path(__file__).parents[1] / "src"]
    packages = [folder / "heliotrope" for folder in folders]
    columns = [measure(package) for package in packages]
    for name in columns[0]:
        print(f"{name:<44}", *(f"{column[name]!s:<60}" for column in columns))
    if "--twice" in sys.argv:
        for name, homes in defined_twice(packages[-1], parse(packages[-1])).items():
            print(f"  {name}: {', '.join(homes)}")


if __name__ == "__main__":
    main()
