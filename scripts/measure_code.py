"""Print the size and shape of the package: files, functions, classes, names, product and lab.

``python scripts/measure_code.py [SRC ...]`` prints one column for each source folder, so that two
checkouts can be compared; by default that of this checkout.
"""

from __future__ import annotations

import ast
import sys
from collections import defaultdict
from pathlib import Path
from statistics import median, quantiles

_LAB = (  # what reproduces and compares, wherever it lived
    "lab",
    "environments",
    "experiments",
    "theory",
    "demo.py",
    "learning/validation.py",
    "logs/layouts.py",
    "logs/log.py",
    "logs/places.py",
    "logs/times.py",
    "logs/__init__.py",
)
_LONG_CLASS = 200  # lines
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def measure(package: Path) -> dict[str, object]:
    """The figures of one package folder, by name."""
    trees = {path: ast.parse(path.read_text()) for path in sorted(package.rglob("*.py"))}
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
        "classes over 200 lines": _listed(c.name for c in classes if _length(c) > _LONG_CLASS),
        "names at the top": len(_exported(trees[package / "__init__.py"])),
        "names defined twice": _listed(twice(package, trees)),
        "lines of the product": sum(lines.values()) - lab,
        "lines of the lab": lab,
    }


def twice(package: Path, trees: dict[Path, ast.Module]) -> dict[str, list[str]]:
    """Public classes and functions that more than one module defines, with those modules."""
    homes = defaultdict(list)
    for path, tree in trees.items():
        for node in tree.body:
            if isinstance(node, (ast.ClassDef, *_FUNCTIONS)) and not node.name.startswith("_"):
                homes[node.name].append(str(path.relative_to(package)))
    return {name: found for name, found in sorted(homes.items()) if len(found) > 1}


def _length(node: ast.AST) -> int:
    assert isinstance(node, (ast.ClassDef, *_FUNCTIONS))
    return (node.end_lineno or node.lineno) - node.lineno + 1


def _is_lab(path: Path) -> bool:
    return any(path.is_relative_to(part) for part in _LAB)


def _exported(tree: ast.Module) -> set[str]:
    """The names that the package's own imports for type checkers bring to the top."""
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    return {
        alias.name
        for node in imports
        if (node.module or "").startswith("heliotrope.")
        for alias in node.names
    }


def _listed(names: object) -> str:
    found = list(names)  # type: ignore[call-overload]
    return f"{len(found)}" + (f" ({', '.join(found[:4])}...)" if found else "")


def main() -> None:
    """Print a row for each figure, a column for each folder."""
    verbose = "--twice" in sys.argv
    given = [argument for argument in sys.argv[1:] if not argument.startswith("--")]
    folders = [Path(folder) for folder in given] or [Path(__file__).parents[1] / "src"]
    columns = [measure(folder / "heliotrope") for folder in folders]
    for name in columns[0]:
        print(f"{name:<28}", *(f"{column[name]!s:<60}" for column in columns))
    if verbose:
        package = folders[-1] / "heliotrope"
        trees = {path: ast.parse(path.read_text()) for path in package.rglob("*.py")}
        for name, homes in twice(package, trees).items():
            print(f"  {name}: {', '.join(homes)}")


if __name__ == "__main__":
    main()
