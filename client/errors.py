"""What a command can end with besides an answer, and the exit codes that scripts may rely on."""

from __future__ import annotations

ANSWERED, SOME_FAILED, REFUSED, JOB_FAILED, FAULT, INTERRUPTED = 0, 1, 2, 3, 70, 130


class Refused(Exception):
    """Nothing was started: a wrong argument, a bad input, a right or a setting that is missing. Exit code 2."""


class JobFailed(Exception):
    """What was started gave no answers, or not yet. Its text says how to go on. Exit code 3."""
