"""`python -m client gateway`: arguments in, a server until it is told to stop."""

from __future__ import annotations

import argparse
import json
import signal
import threading
from collections.abc import Callable

from client.errors import ANSWERED, Refused
from client.gateway.app import Gateway
from client.gateway.content_encoding import Decoding
from client.gateway.in_flight import InFlight
from client.gateway.server import THREADS, Server
from client.transport.arguments import add_deadline, port
from client.transport.exchange import Request, Upstream, Whole, json_object
from client.transport.failures import Failure
from client.transport.targets import SageMakerTarget, UrlTarget, opened, silent

LOOPBACK = {"127.0.0.1": "127.0.0.1", "::1": "::1", "localhost": "127.0.0.1"}  # a name could be made another address
MAX_MESSAGE_BYTES = 64 * 1024 * 1024  # past what any endpoint takes; up to it the answer says what the endpoint takes
MAX_PLAIN_BYTES = 1024 * 1024 * 1024  # the most that a server's DECISION_BULK_MAX_BYTES may be; below it is its to say
FIRST_LOOK_SECONDS = 10.0
Say = Callable[[str], None]


def run(options: argparse.Namespace, say: Say) -> int:
    if options.host not in LOOPBACK:
        if not options.any_host:
            raise Refused(
                f"--host {options.host}: whoever reaches it may use your AWS credentials for this endpoint, without a "
                "password and in plain text. Remedy: --host 127.0.0.1, or --any-host if you mean it"
            )
        say(f"warning: everyone who reaches {options.host} may use this endpoint with your credentials, in plain text")
    upstream = _upstream(options)
    _look(upstream, say)
    in_flight, stopped = InFlight(), threading.Event()
    gateway = Gateway(
        upstream, deadline_seconds=options.deadline, in_flight=in_flight, say=say, any_host=options.any_host
    )
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopped.set())
    address = LOOPBACK.get(options.host, options.host)
    most = MAX_MESSAGE_BYTES if options.url is None else MAX_PLAIN_BYTES
    server = Server(gateway, host=address, port=options.port, max_body_bytes=most, say=say)
    host = f"[{address}]" if ":" in address else address
    print(json.dumps({"event": "ready", "url": f"http://{host}:{server.port}", "to": upstream.name}), flush=True)
    stopped.wait()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_DFL)  # who asks twice does not want to wait
    say("stopping: requests under way are answered first; once more ends at once")
    if not server.stop(in_flight, timeout=options.deadline):
        say(f"some requests had no answer within {options.deadline:g} s and were dropped")
    return ANSWERED


def _upstream(options: argparse.Namespace) -> Upstream:
    if options.url is not None:
        return opened(UrlTarget(url=options.url), connections=THREADS, say=silent)
    endpoint = SageMakerTarget(endpoint_name=options.endpoint_name, region=options.region)
    return Decoding(opened(endpoint, connections=THREADS, say=silent))


def _look(upstream: Upstream, say: Say) -> None:
    """Asks for the models once: a wrong name, right or region shows at the start and not at the first request."""
    try:
        answer = upstream.send(
            Request(method="GET", route="/v1/models", body=b"", headers={}), timeout=FIRST_LOOK_SECONDS
        )
    except Failure as failure:
        if failure.tries is not None and failure.code != "deadline_exceeded":
            raise Refused(failure.message) from failure
        say(f"warning: {failure.message}")
        return
    listed = json_object(answer.body).get("data") if isinstance(answer, Whole) else None
    names = (
        [each["id"] for each in listed if isinstance(each, dict) and "id" in each] if isinstance(listed, list) else []
    )
    if names:
        say(f"{upstream.name} serves {', '.join(map(str, names))}")
    else:
        say(f"warning: {upstream.name} does not list its models; it may be another server than this project's")


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    one = commands.add_parser(
        "gateway",
        help="a local server that signs requests for clients which cannot",
        description="Passes what it is asked on loopback to a SageMaker endpoint, signed with your AWS credentials. "
        "Exit code 0: it was told to stop (SIGTERM, Ctrl-C); 2: it cannot start.",
    )
    target = one.add_mutually_exclusive_group(required=True)
    target.add_argument("--endpoint-name", help="as deployed, such as decision-dev-scoring")
    target.add_argument("--url", help="of a plain server instead, such as http://127.0.0.1:8080; nothing is signed")
    one.add_argument("--host", default="127.0.0.1", help="(default: 127.0.0.1)")
    one.add_argument("--any-host", action="store_true", help="allow a --host that others can reach")
    one.add_argument("--port", type=port, default=8080, help="0 takes a free one (default: 8080)")
    add_deadline(one, default=60.0, of="a request, all tries together")
    one.add_argument("--region", help="(default: as every AWS tool finds it)")
    one.set_defaults(run=run)
