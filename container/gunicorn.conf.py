"""gunicorn's settings: one worker that owns the one engine, loaded after the port is bound. Started by `serve`."""

import os
from functools import partial
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # numpy only reads logits here

from decision_server import config as settings
from decision_server import logs, request_body
from decision_server import worker as serving

_config = settings.load(os.environ)

bind = [f"[{_config.host}]:{_config.port}" if ":" in _config.host else f"{_config.host}:{_config.port}"]
workers = 1
worker_class = serving.Worker
preload_app = False  # llama.cpp must not be loaded before a fork (F4)
# the admitted of either kind, those waited for, bulk bodies, and always some for /ping
_chats = 0 if _config.chat_n_ctx == 0 else _config.chat_slots + _config.queue_size
threads = 1 + _config.queue_size + _chats + serving.SLOW_READERS + request_body.BULK_BODIES + serving.SPARE_THREADS
worker_connections = threads + 1024
backlog = 2048
keepalive = 75
# the worker's accepting thread beats every second whatever the engine does; 60 s of silence means that it hangs
timeout = 60
graceful_timeout = int(serving.DRAIN_SECONDS) + 7  # both within the 30 s that a container gets after SIGTERM
max_requests = 0
worker_tmp_dir = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # the heartbeat file must not meet a slow disk
control_socket_disable = True
http_parser = "python"
limit_request_field_size = 16380  # custom attributes of InvokeEndpoint are long
accesslog = None
loglevel = _config.log_level
logconfig_dict = logs.configuration(_config.log_level)


def on_starting(server: Any) -> None:
    """There is one worker because there is one engine: signals by which gunicorn starts another are turned away."""
    for name in ("hup", "ttin", "usr2"):
        setattr(server, f"handle_{name}", partial(_turn_away, server, f"SIG{name.upper()}"))


def _turn_away(server: Any, name: str) -> None:
    server.log.warning("%s ignored: it would load the model a second time; start a new server instead", name)


def post_worker_init(worker: serving.Worker) -> None:
    """The model is loading already (wsgi.py): in the worker, after the port is bound, and never before a fork (F4)."""
    lifecycle = worker.wsgi.extensions["lifecycle"]
    host, port = worker.sockets[0].getsockname()[:2]
    worker.lifecycle = lifecycle
    worker.read_timeout_seconds = _config.read_timeout_seconds
    lifecycle.serve(url=f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}", end=worker.end)


def child_exit(server: Any, worker: serving.Worker) -> None:
    """A worker that died of a signal is not started again: the platform replaces the whole container."""
    if server.LISTENERS:  # closed once the server itself is stopping
        serving.halt(
            "the worker ended unexpectedly; if it was not ready yet, llama.cpp cannot load the model in "
            f"{_config.model_path} and ended the process over it"
        )
