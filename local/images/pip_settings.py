"""What pip on this machine is told (index, certificates, time-outs), as a folder that a build can be lent.

The folder is mounted while the build runs and leaves nothing in the image.
"""

from __future__ import annotations

import configparser
import shutil
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

MOUNT_POINT = "/media"  # an empty folder of every Linux base
_SETTINGS = ("index-url", "extra-index-url", "trusted-host", "proxy", "timeout", "retries", "cert")


def write(folder: Path) -> str:
    """Writes pip.conf, and the certificates it names. Returns pip.conf's path as the build will see it."""
    settings = {}
    for name in _SETTINGS:
        value = _value(name)
        if name == "cert" and value:
            shutil.copyfile(value, folder / "certificates.pem")
            value = f"{MOUNT_POINT}/certificates.pem"
        elif name.endswith("index-url"):
            # an index in this machine's file system does not exist inside the build
            value = " ".join(url for url in value.split() if urlsplit(url).scheme != "file")
        if value:
            settings[name] = value
    parser = configparser.RawConfigParser()
    parser["global"] = settings
    with (folder / "pip.conf").open("w") as file:
        parser.write(file)
    return f"{MOUNT_POINT}/pip.conf"


def _value(name: str) -> str:
    """The environment's value, else a configuration file's, else nothing, as pip itself decides."""
    for key in (f":env:.{name}", f"global.{name}"):
        command = [sys.executable, "-m", "pip", "config", "get", key]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode == 0 and done.stdout.strip():
            return done.stdout.strip()
    return ""
