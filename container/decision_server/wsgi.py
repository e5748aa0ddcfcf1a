"""What gunicorn imports, in the worker, after the port is bound: `app`.

Importing this starts the loading of the model, since most of that is native work that needs no Python: the file is
hashed while the engine's parts are imported, and the model is loaded while Flask is (docs/decisions/0013).
"""
# ruff: noqa: E402 - the order of these lines is what this module is for

import os

from decision_server import config as settings
from decision_server import opening

opening.begin(settings.load(os.environ).model_path)

from decision_server.composition import config, lifecycle, metrics

lifecycle.begin()

from decision_server.app import create_app

app = create_app(config, lifecycle, metrics)
