"""Run the Dockerfile's installation, start command and health check without a container engine.

``python scripts/check_image.py`` copies the files that the image copies to an empty folder, runs
its installation steps there, starts the service as the image does, and calls the health check.
It takes some minutes.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
PREFIX, PORT = "/opt/heliotrope", "8765"


@dataclass(frozen=True)
class Image:
    """What a Dockerfile says."""

    steps: tuple[tuple[str, str], ...]  # instruction and argument, in order

    def all(self, instruction: str) -> list[str]:
        """The arguments of every such instruction."""
        return [argument for name, argument in self.steps if name == instruction]

    def command(self) -> list[str]:
        """The command that a container runs."""
        (entry,), (arguments,) = self.all("ENTRYPOINT"), self.all("CMD")
        return [*json.loads(entry), *json.loads(arguments)]

    def health_check(self) -> list[str]:
        """The command that says whether a container is healthy."""
        (check,) = self.all("HEALTHCHECK")
        return list(json.loads(check.split("CMD", 1)[1]))

    def copied(self) -> list[str]:
        """Files and folders of the checkout that the image copies."""
        copies = [shlex.split(one) for one in self.all("COPY")]
        return [name for words in copies if "--from" not in words[0] for name in words[:-1]]


def read_image(path: Path = ROOT / "Dockerfile") -> Image:
    """Read a Dockerfile."""
    lines = re.sub(r"\\\n\s*", " ", path.read_text()).splitlines()
    steps = [line.split(None, 1) for line in lines if line.strip() and not line.startswith("#")]
    return Image(tuple((name, argument) for name, argument in steps))


def install(image: Image, folder: Path) -> Path:
    """Run the installation steps in a folder; return the environment."""
    for name in image.copied():
        source, target = ROOT / name, folder / name
        shutil.copytree(source, target) if source.is_dir() else shutil.copy(source, target)
    environment = folder / "environment"
    for step in image.all("RUN"):
        if PREFIX in step:
            here = step.replace(PREFIX, str(environment)).replace(
                "python -m", f"{sys.executable} -m"
            )
            subprocess.run(here, shell=True, check=True, cwd=folder)
    return environment


def start_and_check(image: Image, environment: Path, folder: Path) -> None:
    """Start the service as the image does; raise an error if the health check never succeeds."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    tokens = folder / "tokens"
    tokens.write_text(secrets.token_urlsafe() + "\n")
    replaced = {"/run/secrets/heliotrope_tokens": str(tokens), PORT: port}
    command = [replaced.get(word, word) for word in image.command()]
    check = [word.replace(PORT, port) for word in image.health_check()]
    variables = {
        **os.environ,
        "PATH": f"{environment / 'bin'}:{os.environ['PATH']}",
        "HELIOTROPE_STORE": f"sqlite:///{folder / 'studies.db'}",
    }
    program = environment / "bin" / command[0]
    service = subprocess.Popen([program, *command[1:]], cwd=folder, env=variables)
    try:
        _wait_until_healthy(check, variables)
    finally:
        service.terminate()
        service.wait(30)


def _wait_until_healthy(
    check: list[str], variables: dict[str, str], seconds: float = 300.0
) -> None:
    end = time.monotonic() + seconds
    while subprocess.run(check, env=variables, capture_output=True, check=False).returncode != 0:
        if time.monotonic() > end:
            raise RuntimeError(f"the health check did not succeed within {seconds:g} s")
        time.sleep(0.5)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        found = read_image()
        folder = Path(name)
        start_and_check(found, install(found, folder), folder)
    print("The image's steps work: installed, started, healthy.")
