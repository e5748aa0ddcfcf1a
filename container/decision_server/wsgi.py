"""What gunicorn imports, in the worker, after the port is bound: `app`.

Importing this starts the loading of the model, since most of that is native work that needs no Python: the file is
hashed and loaded while the rest of the server is imported (docs/decisions/0013).
"""
# ruff: noqa: E402 - the order of these lines is what this module is for

import os
from importlib import import_module

from decision_server import config as settings
from decision_server import heap, opening

heap.give_back_large_blocks()
opening.begin(settings.load(os.environ))

import_module("decision_server.engine")  # first of all: it is what loading waits for

from decision_server.composition import config, lifecycle, metrics

lifecycle.begin()

from decision_server.app import create_app

app = create_app(config, lifecycle, metrics)
