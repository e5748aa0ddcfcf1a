"""What pip on this machine is told (index, certificates, time-outs), as a folder that a build can be lent.

The folder is mounted while the build runs and leaves nothing in the image.
"""

from __future__ import annotations

import ast
import configparser
import shutil
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

MOUNT_POINT = "/media"  # an empty folder of every Linux base
_SETTINGS = ("index-url", "extra-index-url", "trusted-host", "proxy", "timeout", "default-timeout", "retries", "cert")


def write(folder: Path) -> str:
    """Writes pip.conf, and the certificates it names. Returns pip.conf's path as the build will see it."""
    configured = _configured()
    settings = {name: configured[name] for name in _SETTINGS if name in configured}
    if "cert" in settings:
        shutil.copyfile(settings["cert"], folder / "certificates.pem")
        settings["cert"] = f"{MOUNT_POINT}/certificates.pem"
    for name in ("index-url", "extra-index-url"):
        # an index in this machine's file system does not exist inside the build
        urls = [url for url in settings.pop(name, "").split() if urlsplit(url).scheme != "file"]
        if urls:
            settings[name] = " ".join(urls)
    parser = configparser.RawConfigParser()
    parser["global"] = settings
    with (folder / "pip.conf").open("w") as file:
        parser.write(file)
    return f"{MOUNT_POINT}/pip.conf"


def _configured() -> dict[str, str]:
    """pip's settings on this machine; a variable wins over a configuration file, as in pip itself."""
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "config", "list"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found: dict[str, dict[str, str]] = {"global": {}, ":env:": {}}
    for line in done.stdout.splitlines():
        key, _, value = line.partition("=")
        section, _, name = key.rpartition(".")
        if section in found:
            found[section][name] = str(ast.literal_eval(value))
    return {**found["global"], **found[":env:"]}
