"""The code of the pages that people copy from."""

import re
from pathlib import Path


def blocks(page: Path, language: str) -> list[str]:
    """The code blocks of a page in a language, in order."""
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), flags=re.M | re.S)
