"""`python -m client playground`: a target in, a page on loopback until it is told to stop."""

from __future__ import annotations

import argparse
import json
import secrets
import signal
import socket
import threading
import webbrowser
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from client.errors import ANSWERED, Refused
from client.playground.guard import Guard
from client.playground.prompts import PromptMaker
from client.playground.server import Server
from client.playground.site import Site
from client.playground.target import TargetFacts, facts_of
from client.playground.vocabulary import open_vocabulary
from client.transport import arguments
from client.transport.targets import LocalTarget, Target, opened

CONNECTIONS = 8
DEADLINE_SECONDS = 60.0
Say = Callable[[str], None]


def run(options: argparse.Namespace, say: Say) -> int:
    target = arguments.target_of(options)
    if isinstance(target, LocalTarget) and options.prompts_of is not None:
        raise Refused("--prompts-of: goes with --url or --endpoint-name; prompts of a --model are its own")
    listening = _listening(options.port)  # before a model is loaded for nothing
    with closing(listening), closing(opened(target, connections=CONNECTIONS, say=say)) as upstream:
        maker, no_prompts = _maker(target, options.prompts_of, say)
        facts: TargetFacts = facts_of(target, upstream, api_key_variable=options.api_key_env, no_prompts=no_prompts)
        port = int(listening.getsockname()[1])
        guard = Guard(token=secrets.token_urlsafe(24), port=port)
        stopped = threading.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: stopped.set())
        server = Server(Site(guard, upstream, facts, maker, deadline_seconds=DEADLINE_SECONDS), listening)
        url = f"http://127.0.0.1:{port}/{guard.token}/"
        print(json.dumps({"event": "ready", "url": url, "to": upstream.name}), flush=True)
        say(f"open {url} (whoever knows this address may ask through it); Ctrl-C ends it")
        if options.open:
            webbrowser.open(url)
        stopped.wait()
        say("stopping")
        server.stop()
    return ANSWERED


def _listening(port: int) -> socket.socket:
    try:
        return socket.create_server(("127.0.0.1", port))
    except (OSError, OverflowError) as error:
        raise Refused(f"--port {port}: cannot listen there: {error}. Remedy: --port 0 takes a free one") from error


def _maker(target: Target, prompts_of: Path | None, say: Say) -> tuple[PromptMaker | None, str | None]:
    """What makes the prompts, or why nothing does. A local model is its own; another target's has to be given."""
    model = Path(target.model) if isinstance(target, LocalTarget) else prompts_of
    if model is None:
        return None, (
            "The prompt and its tokens are made on the server and do not come with an answer. To see them, start the "
            "playground with --prompts-of and the GGUF that the server has."
        )
    say(f"{model}: its vocabulary is read, for prompts and tokens")
    return PromptMaker(open_vocabulary(model)), None


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    one = commands.add_parser(
        "playground",
        help="a page in your browser to try decisions by hand",
        description="Serves one page on 127.0.0.1: probabilities as you type, the prompt with its tokens, two readouts "
        "side by side, the same as code. Exit code 0: it was told to stop (SIGTERM, Ctrl-C); 2: it cannot start.",
    )
    arguments.add_target(one)
    one.add_argument(
        "--prompts-of",
        type=Path,
        metavar="PATH",
        help="with --url or --endpoint-name: the GGUF or model folder that is served there, to show prompts and tokens",
    )
    one.add_argument("--port", type=arguments.port, default=8090, help="0 takes a free one (default: 8090)")
    one.add_argument("--open", action="store_true", help="open the page in the browser")
    one.set_defaults(run=run)
