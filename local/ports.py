"""Which port of 127.0.0.1 the emulator listens on."""

from __future__ import annotations

import socket

DEFAULT_PORT = 4566
ALLOWED = range(1024, 65536)  # those below need root


class PortTaken(Exception):
    """The port that was asked for is in use; the text says what to do."""


def port_number(text: str) -> int:
    """Raises ValueError, with a text for a person, for what no emulator can listen on."""
    if not (text.isascii() and text.isdigit() and int(text) in ALLOWED):
        raise ValueError(f"{text!r} given; a whole number from {ALLOWED[0]} to {ALLOWED[-1]} is allowed")
    return int(text)


def choose_port(wanted: int | None) -> tuple[int, str | None]:
    """A free port, and a sentence when it is not the usual one. Raises PortTaken when the wanted one is taken."""
    if wanted is not None:
        if not _free(wanted):
            raise PortTaken(
                f"port {wanted} on 127.0.0.1 is taken. Remedy: choose another with --port, or leave --port out"
            )
        return wanted, None
    if _free(DEFAULT_PORT):
        return DEFAULT_PORT, None
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port, f"port {DEFAULT_PORT} is taken by another program; using {port}"


def _free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
