"""Puts the emulator together and serves it: `python -m local.emulator --state DIR --cache DIR --port N --path
DIR:DIR`.
"""

from __future__ import annotations

import argparse
import atexit
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

from local.emulator.settings import EmulatorSettings

ACCOUNT = "123456789012"
# Of the surrounding environment, what a build or a container may see: tools, proxies, package indexes. No AWS
# credentials.
PASSED_NAMES = ("PATH", "HOME", "LANG", "LC_ALL", "TZ", "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE",
                "NODE_EXTRA_CA_CERTS", "CURL_CA_BUNDLE", "CC", "CXX")  # fmt: skip
PASSED_PREFIXES = ("PIP_", "UV_", "CMAKE_", "LOCAL_IMAGE_", "MODEL_PACKAGING_")
PASSED_SUFFIXES = ("_PROXY", "_proxy")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m local.emulator", description=__doc__)
    parser.add_argument(
        "--state", type=Path, required=True, help="folder for logs, endpoints and builds of this emulator"
    )
    parser.add_argument("--cache", type=Path, required=True, help="folder for what outlives it")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--path", default="", help="folders put first on a build's PATH, separated by ':'")
    parser.add_argument("--node-modules", type=Path, required=True, help="packages that Lambda's Node.js brings")
    parser.add_argument("--runner", default="local.images:prepare", help="module:function that makes an image runnable")
    parser.add_argument("--enforce-iam", action="store_true", help="check requests against IAM policies")
    arguments = parser.parse_args()
    settings = EmulatorSettings(
        port=arguments.port,
        state=arguments.state.resolve(),
        cache=arguments.cache.resolve(),
        tool_path=tuple(Path(folder) for folder in arguments.path.split(os.pathsep) if folder),
        node_modules=arguments.node_modules,
        runner=arguments.runner,
        enforce_iam=arguments.enforce_iam,
    )
    inherited = passed_on(os.environ)
    prepare_environment(settings)
    # ministack reads its settings from the environment when it is imported.
    from local.emulator.composition import install
    from local.emulator.host import serve

    atexit.register(install(settings, inherited))
    serve()


def passed_on(environment: Mapping[str, str]) -> dict[str, str]:
    """The part of the environment that builds and containers get."""
    return {
        name: value
        for name, value in environment.items()
        if name in PASSED_NAMES or name.startswith(PASSED_PREFIXES) or name.endswith(PASSED_SUFFIXES)
    }


def prepare_environment(settings: EmulatorSettings) -> None:
    """Loopback only, one account, short waits of Step Functions, every file below the state folder."""
    temporary = settings.state / "tmp"
    temporary.mkdir(parents=True, exist_ok=True)
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        del os.environ[name]  # nothing here may reach a real account
    os.environ.update(
        BIND_HOST="127.0.0.1",
        MINISTACK_HOST="127.0.0.1",
        GATEWAY_PORT=str(settings.port),
        MINISTACK_ACCOUNT_ID=ACCOUNT,
        MINISTACK_REGION=settings.region,
        NODE_PATH=str(settings.node_modules),
        AUTH=str(settings.enforce_iam).lower(),
        # The provider asks 720 times, every 5 s of Step Functions' time: 24 minutes here, and no build may take longer.
        SFN_WAIT_SCALE="0.4",
        TMPDIR=str(temporary),
        LAMBDA_EXECUTOR="local",
        PERSIST_STATE="0",
        S3_PERSIST="0",
        STATE_DIR=str(settings.state / "ministack"),
        AWS_ACCESS_KEY_ID="testing",
        AWS_SECRET_ACCESS_KEY="testing",
        AWS_DEFAULT_REGION=settings.region,
        AWS_ENDPOINT_URL=settings.url,
        AWS_EC2_METADATA_DISABLED="true",
    )
    tempfile.tempdir = None  # asked for anew, from TMPDIR


if __name__ == "__main__":
    main()
