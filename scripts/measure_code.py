"""Print the size and shape of the package: files, functions, classes, names, product and lab.

``python scripts/measure_code.py [SRC ...]`` prints one column for each source folder, so that two
checkouts can be compared. The default is this checkout. ``--twice`` also lists the names that the
last folder defines twice.
"""

from __future__ import annotations

import ast
import sys
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
_LONG_CLASS = 200  # lines
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_TYPE_VARIABLES = ("TypeVar", "ParamSpec")

Trees = dict[Path, ast.Module]


def parse(package: Path) -> Trees:
    """The syntax trees of a package's modules."""
    return {path: ast.parse(path.read_text()) for path in sorted(package.rglob("*.py"))}


def measure(package: Path) -> dict[str, object]:
    """The figures of one package, by name."""
    trees = parse(package)
    lines = {path: len(path.read_text().splitlines()) for path in trees}
    nodes = [node for tree in trees.values() for node in ast.walk(tree)]
    functions = sorted(_length(node) for node in nodes if isinstance(node, _FUNCTIONS))
    classes = [node for node in nodes if isinstance(node, ast.ClassDef)]
    lab = sum(count for path, count in lines.items() if _is_lab(path.relative_to(package)))
    return {
        "files": len(lines),
        "file median/longest": f"{median(lines.values()):.0f}/{max(lines.values())}",
        "function median/p90/longest": (
            f"{median(functions):.0f}/{quantiles(functions, n=10)[-1]:.0f}/{functions[-1]}"
        ),
        "classes over 200 lines": _summary([c.name for c in classes if _length(c) > _LONG_CLASS]),
        "names at the top": len(_top_names(trees[package / "__init__.py"])),
        "names defined twice": _summary(defined_twice(package, trees)),
        "lines of the product": sum(lines.values()) - lab,
        "lines of the lab": lab,
    }


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
    return any(path.is_relative_to(part) for part in _LAB)


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
        print(f"{name:<28}", *(f"{column[name]!s:<60}" for column in columns))
    if "--twice" in sys.argv:
        for name, homes in defined_twice(packages[-1], parse(packages[-1])).items():
            print(f"  {name}: {', '.join(homes)}")


if __name__ == "__main__":
    main()
