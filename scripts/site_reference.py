"""The site's reference of a module: every public name, with its docstring."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src"


def module_reference(source: str) -> str:
    """The directives that show every public name of a module, by the path of its source."""
    module = source.removeprefix("src/").removesuffix(".py").replace("/", ".")
    return "".join(
        f"::: {module}.{name}\n    options:\n      heading_level: 3\n\n"
        for name in public_names(module)
    )


def public_names(module: str) -> list[str]:
    """Names that a module defines, or imports in order to offer them."""
    path = SOURCE.joinpath(*module.split("."))
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    tree = ast.parse(file.read_text())
    return _listed(tree) or list(dict.fromkeys([*_offered(tree), *_defined(tree)]))


def _listed(tree: ast.Module) -> list[str]:
    """The names in ``__all__``, if it is a plain list."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            with suppress(ValueError):  # a list that is computed
                return list(ast.literal_eval(node.value))
    return []


def _offered(tree: ast.Module) -> Iterator[str]:
    """Names imported as themselves, which marks them as public."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                if alias.name == "*":
                    yield from public_names(node.module)
                elif alias.asname == alias.name:
                    yield alias.name


def _defined(tree: ast.Module) -> Iterator[str]:
    kinds = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    for node in tree.body:
        if isinstance(node, kinds) and not node.name.startswith("_"):
            yield node.name
