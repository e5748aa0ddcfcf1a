"""Log lines: one JSON object each, on standard error. At info level they hold codes and numbers, never request text."""

from __future__ import annotations

import json
import logging
import logging.config
from datetime import datetime, timezone
from typing import Any


class JsonFormatter(logging.Formatter):
    """`extra={"facts": {...}}` of a log call adds its keys to the line."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, timezone.utc).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        line.update(getattr(record, "facts", {}))
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str)


def configuration(level: str) -> dict[str, Any]:
    """For logging.config.dictConfig, and for gunicorn's logconfig_dict, which passes it on."""
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"json": {"()": "decision_server.logs.JsonFormatter"}},
        "handlers": {"stderr": {"class": "logging.StreamHandler", "stream": "ext://sys.stderr", "formatter": "json"}},
        "root": {"level": "WARNING", "handlers": ["stderr"]},
        "loggers": {
            "decision_server": {"level": level.upper(), "handlers": ["stderr"], "propagate": False},
            "llama.cpp": {
                "level": "DEBUG" if level == "debug" else "WARNING",
                "handlers": ["stderr"],
                "propagate": False,
            },
            "gunicorn.error": {"level": level.upper(), "handlers": ["stderr"], "propagate": False},
        },
    }
