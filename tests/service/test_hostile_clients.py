"""Clients without a token that send headers without end, or nothing, or never read: raw sockets."""

from __future__ import annotations

import gzip
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest

from cluster import wait_for
from heliotrope.service.connections import HEADER_SECONDS, PIECE_SECONDS
from served import Served

TOKEN = "correct-horse-battery-staple"
START = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n"
LARGE = b"GET /static/plotly.min.js HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"
FILES = 1024
MEGABYTES = 50  # by which the memory may grow


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder: Path = tmp_path_factory.mktemp("hostile")
    with Served(f"sqlite:///{folder}/store.db", TOKEN, files=FILES) as found:
        for _ in range(20):
            httpx.get(f"{found.url}/").raise_for_status()
        yield found


@pytest.fixture(autouse=True)
def unharmed(served: Served) -> Iterator[None]:
    """After each attack others are answered, and the memory has hardly grown."""
    before = memory(served)
    yield
    assert httpx.get(f"{served.url}/healthz", timeout=10.0).status_code == 200
    token = {"Authorization": f"Bearer {TOKEN}"}
    assert httpx.get(f"{served.url}/api/studies", headers=token).json()["studies"] == []
    assert memory(served) - before < MEGABYTES


def memory(served: Served) -> float:
    return float(psutil.Process(served.process.pid).memory_info().rss / 1e6)


def connect(served: Served) -> socket.socket:
    return socket.create_connection(("127.0.0.1", served.port), timeout=30.0)


def answer(client: socket.socket) -> bytes:
    """Everything until the service closes the connection."""
    found = b""
    with suppress(ConnectionError):
        while part := client.recv(65536):
            found += part
    return found


def flood(client: socket.socket, part: bytes, most: int) -> int:
    """Send a part again and again until the service closes; return the bytes sent."""
    sent = 0
    with suppress(ConnectionError):
        while sent < most:
            client.sendall(part)
            sent += len(part)
    return sent


@pytest.mark.parametrize(
    "part", [b"X-Filler: " + b"a" * 1000 + b"\r\n", b"a: b\r\n" * 100, b"x" * 65536]
)
def test_endless_headers_are_cut_off(served: Served, part: bytes) -> None:
    with connect(served) as client:
        client.sendall(START + (b"X-Endless: " if b":" not in part else b""))
        assert flood(client, part, 150_000_000) < 20_000_000


@pytest.mark.parametrize("count", [101, 5000])
def test_too_many_headers_are_refused(served: Served, count: int) -> None:
    with connect(served) as client:
        client.sendall(START + b"a: b\r\n" * count + b"\r\n")
        assert answer(client).startswith(b"HTTP/1.1 431 ")


def test_an_endless_path_is_refused(served: Served) -> None:
    with connect(served) as client:
        with suppress(ConnectionError):
            client.sendall(b"GET /" + b"a" * 40_000 + b" HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        assert b"200" not in answer(client)[:20]


def test_half_sent_headers_and_silence_have_a_deadline(served: Served) -> None:
    with ExitStack() as stack:
        clients = [stack.enter_context(connect(served)) for _ in range(300)]
        for number, client in enumerate(clients):
            if number % 2:
                client.sendall(START)
        slow = stack.enter_context(connect(served))
        end = time.monotonic() + HEADER_SECONDS + 15.0
        while time.monotonic() < end and not _is_closed(slow):
            with suppress(ConnectionError):
                slow.sendall(b"\r\n" if _is_closed(slow) else b"a")  # a byte now and then
            time.sleep(0.5)
        assert _is_closed(slow)
        assert {answer(client)[:12] for client in clients} == {b"HTTP/1.1 408"}


def _is_closed(client: socket.socket) -> bool:
    client.setblocking(False)
    try:
        return client.recv(1000, socket.MSG_PEEK) is not None
    except BlockingIOError:
        return False
    except ConnectionError:
        return True
    finally:
        client.setblocking(True)


def test_silent_connections_give_way_to_others(served: Served) -> None:
    """There are more of them than the process may have open files."""
    with ExitStack() as stack, httpx.Client(base_url=served.url, timeout=10.0) as other:
        assert other.get("/healthz").status_code == 200
        clients = [stack.enter_context(connect(served)) for _ in range(FILES + 76)]
        for _ in range(20):
            assert other.get("/healthz").status_code == 200
            assert httpx.get(f"{served.url}/", timeout=10.0).status_code == 200
        assert sum(_is_closed(client) for client in clients) >= 400


def never_reading(served: Served, stack: ExitStack, count: int) -> list[socket.socket]:
    """Clients that request a large file and read nothing of it."""
    clients = [stack.enter_context(socket.socket()) for _ in range(count)]
    for client in clients:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        client.settimeout(30.0)
        client.connect(("127.0.0.1", served.port))
        client.sendall(LARGE)
    return clients


def established(served: Served) -> int:
    connections = psutil.Process(served.process.pid).net_connections()
    return sum(connection.status == psutil.CONN_ESTABLISHED for connection in connections)


def test_clients_that_never_read_are_cut_off(served: Served) -> None:
    with ExitStack() as stack:
        clients = never_reading(served, stack, 100)
        wait_for(lambda: established(served) >= 100)
        before = memory(served)
        wait_for(lambda: established(served) < 10, PIECE_SECONDS + 15.0)
        assert memory(served) - before < MEGABYTES
        assert all(len(answer(client)) < 1_000_000 for client in clients[:10])


def test_unread_answers_give_way_to_others(served: Served) -> None:
    with ExitStack() as stack, httpx.Client(base_url=served.url, timeout=10.0) as other:
        never_reading(served, stack, FILES - 300)
        for _ in range(20):
            assert other.get("/healthz").status_code == 200
            assert httpx.get(f"{served.url}/", timeout=10.0).status_code == 200


@pytest.mark.parametrize("coding", ["identity", "gzip"])
def test_a_slow_reader_gets_the_whole_file(served: Served, coding: str) -> None:
    request = LARGE[:-2] + f"Accept-Encoding: {coding}\r\n\r\n".encode()
    with connect(served) as client:
        client.sendall(request)
        found = bytearray()
        while part := client.recv(20_000):
            found += part
            time.sleep(0.001)
    head, _, body = bytes(found).partition(b"\r\n\r\n")
    plain = httpx.get(f"{served.url}/static/plotly.min.js").content
    assert f"content-length: {len(body)}\r\n".encode() in head
    assert (gzip.decompress(body) if coding == "gzip" else body) == plain


def test_fields_after_a_chunked_body_are_no_headers(served: Served) -> None:
    """They could add a token, or another host."""
    request = (
        b"POST /api/studies HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        b"Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n2\r\n{}\r\n0\r\n"
        b"Authorization: Bearer " + TOKEN.encode() + b"\r\nHost: evil.example\r\n\r\n"
    )
    with connect(served) as client:
        client.sendall(request)
        assert answer(client).startswith(b"HTTP/1.1 401 ")


@pytest.mark.parametrize("token", [b"", b"Authorization: Bearer " + TOKEN.encode() + b"\r\n"])
def test_endless_fields_after_a_body_are_cut_off(served: Served, token: bytes) -> None:
    with connect(served) as client:
        client.sendall(
            b"POST /api/studies HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
            + token
            + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\nX-Endless: "
        )
        assert flood(client, b"x" * 65536, 150_000_000) < 20_000_000


def test_pipelined_requests_and_bodies_in_small_chunks_are_served(served: Served) -> None:
    one: Any = START + b"\r\n"
    last = START + b"Connection: close\r\n\r\n"
    with connect(served) as client:
        client.sendall(one * 20 + last)
        assert answer(client).count(b"HTTP/1.1 200 ") == 21
    body = b'{"name": "tiny chunks", "options": ["a", "b"]}'
    chunks = b"".join(b"1\r\n" + bytes([byte]) + b"\r\n" for byte in body)
    head = (
        b"POST /api/studies HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        b"Authorization: Bearer " + TOKEN.encode() + b"\r\nTransfer-Encoding: chunked\r\n"
        b"Connection: close\r\n\r\n"
    )
    with connect(served) as client:
        client.sendall(head + chunks + b"0\r\n\r\n")
        assert answer(client).startswith(b"HTTP/1.1 201 ")
    token = {"Authorization": f"Bearer {TOKEN}"}
    httpx.delete(f"{served.url}/api/studies/tiny chunks", headers=token).raise_for_status()
