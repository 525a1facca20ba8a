"""Pages of the site's reference: every public name of the modules, with its docstring."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src"

_ADAPTERS = ("optuna", "gest_api", "ax", "ray", "river", "gymnasium")
_LAB = ("environments", "plain", "league", "replay", "reproduction", "theory", "logs", "trials")
PAGES = {  # by file: the title, a sentence, and the modules
    "policies": (
        "Policies",
        "A policy is a prior, a memory and an acquisition. "
        "[Algorithms](../../explanation/algorithms.md) explains each.",
        ("policies", "acquisition", "memory", "testing"),
    ),
    "priors": (
        "Priors and terms",
        "A prior is a sum of terms with noise and a mean. "
        "[Sums of terms](../../explanation/sums.md) has examples.",
        ("priors", "terms", "kernels", "posterior"),
    ),
    "live": (
        "Running systems",
        "Limits, a baseline and moves, beside a policy.",
        ("live",),
    ),
    "estimation": (
        "Estimation",
        "Priors and models from data. [Learn the drift](../../how-to/learning.md) has examples.",
        ("estimation",),
    ),
    "tools": (
        "Plots and errors",
        "Pictures of studies and optimizers, and the package's exceptions.",
        ("plot", "errors", "domains", "spaces"),
    ),
    "service": (
        "Service and storage",
        "[Service](../service.md) has the routes, [storage](../storage.md) the guarantees.",
        ("service", "storage"),
    ),
    "integrations": (
        "Integrations",
        "Adapters to other projects. [Other projects](../../how-to/integrations.md) has examples.",
        tuple(f"integrations.{name}" for name in _ADAPTERS),
    ),
    "lab": (
        "Laboratory",
        "Environments, comparisons, the paper's figures and theory.",
        tuple(f"lab.{name}" for name in _LAB),
    ),
}


def reference_pages() -> Iterator[tuple[str, str]]:
    """The path and the text of each page."""
    for file, (title, sentence, modules) in PAGES.items():
        sections = [f"## heliotrope.{module}\n\n{_section(module)}" for module in modules]
        yield f"reference/api/{file}.md", f"# {title}\n\n{sentence}\n\n" + "\n".join(sections)


def _section(module: str) -> str:
    path = f"heliotrope.{module}"
    return "".join(
        f"::: {path}.{name}\n    options:\n      heading_level: 3\n\n"
        for name in public_names(path)
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
