"""Statements are written down with a reason exactly where a resource has a `*`."""

from __future__ import annotations

import pytest

from stacks.statements import allow, role_for

from .lone_stack import lone_stack


@pytest.mark.parametrize(
    ("resource", "why"), [("arn:aws:s3:::bucket/*", None), ("arn:aws:s3:::bucket/key", "It is all of one prefix")]
)
def test_a_wildcard_without_a_reason_and_a_reason_without_a_wildcard_are_refused(
    resource: str, why: str | None
) -> None:
    role = role_for(lone_stack(), "Role", service="codebuild")
    with pytest.raises(ValueError, match=r"Lone/Role: \['s3:GetObject'\] on .* a reason is needed for a `\*`"):
        allow(role, ["s3:GetObject"], [resource], why_wildcard=why)
