"""Credentials that act with a role's rights, where requests are checked against IAM; else those of the account.

CodeBuild and SageMaker take on the role of a project or a model; here their builds and containers are given a session
of it. Whether the role trusts the service is not asked.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping

Credentials = Callable[[str, str], Mapping[str, str]]  # role ARN, session name → AWS_ variables
Register = Callable[[str, str, str, str, str], None]  # access key, secret, token, role ARN, session name

ACCOUNT_CREDENTIALS = {"AWS_ACCESS_KEY_ID": "testing", "AWS_SECRET_ACCESS_KEY": "testing"}


def of_the_account(role_arn: str, session: str) -> Mapping[str, str]:
    return ACCOUNT_CREDENTIALS


def sessions_of(register: Register) -> Credentials:
    def credentials(role_arn: str, session: str) -> Mapping[str, str]:
        digest = hashlib.sha256(f"{role_arn} {session}".encode()).hexdigest()
        key, secret, token = f"ASIA{digest[:16].upper()}", digest[16:56], digest[::-1]
        register(key, secret, token, role_arn, session)
        return {"AWS_ACCESS_KEY_ID": key, "AWS_SECRET_ACCESS_KEY": secret, "AWS_SESSION_TOKEN": token}

    return credentials
