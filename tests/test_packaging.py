"""What a package index receives: the page of the project, and the files of the sdist."""

from __future__ import annotations

import re
import tarfile
import tomllib
from pathlib import Path

import pytest
from hatchling.builders.sdist import SdistBuilder

from markdown_links import links, pictures

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()


@pytest.fixture(scope="module")
def description() -> str:
    """The README as the index shows it."""
    return str(SdistBuilder(str(ROOT)).metadata.core.readme)


def urls() -> dict[str, str]:
    with (ROOT / "pyproject.toml").open("rb") as file:
        return dict(tomllib.load(file)["project"]["urls"])


def address(link: str) -> str:
    """Where a link of the README leads from a package index."""
    if "://" in link:
        return link
    assert (ROOT / link.partition("#")[0]).is_file(), link
    page = re.fullmatch(r"docs/(.+)\.md(#.+)?", link)
    if page:
        return f"{urls()['Documentation']}/{page[1]}.html{page[2] or ''}"
    return f"{urls()['Repository']}/blob/main/{link}"


def test_links_of_the_description_are_absolute(description: str) -> None:
    assert any("://" not in link for link in links(README))
    assert links(description) == [address(link) for link in links(README)]


def test_pictures_of_the_description_are_absolute(description: str) -> None:
    raw = urls()["Repository"].replace("github.com", "raw.githubusercontent.com") + "/main/"
    shown = pictures(description)
    assert shown
    assert shown == [raw + picture for picture in pictures(README)]
    assert all((ROOT / one.removeprefix(raw)).is_file() for one in shown)


def test_code_of_the_description_is_that_of_the_readme(description: str) -> None:
    blocks = re.compile(r"^```.*?^```", flags=re.M | re.S)
    assert blocks.findall(description) == blocks.findall(README)


def test_the_sdist_holds_the_package_and_its_tests(tmp_path: Path) -> None:
    (path,) = SdistBuilder(str(ROOT)).build(directory=str(tmp_path), versions=["standard"])
    with tarfile.open(path) as archive:
        names = [Path(*Path(name).parts[1:]) for name in archive.getnames()]
    assert {name.parts[0] for name in names} == {
        "src", "tests", "pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", "PKG-INFO",
        ".gitignore",  # of hatchling: a wheel that is built from the sdist leaves the same out
    }  # fmt: skip
    assert Path("src/heliotrope/py.typed") in names
    assert Path("tests/conftest.py") in names
    assert not [name for name in names if "__pycache__" in name.parts]


def test_extras_are_for_users() -> None:
    with (ROOT / "pyproject.toml").open("rb") as file:
        project = tomllib.load(file)
    extras, groups = project["project"]["optional-dependencies"], project["dependency-groups"]
    assert not extras.keys() & groups.keys()
    assert not [one for needs in extras.values() for one in needs if "==" in one]
