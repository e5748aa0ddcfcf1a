"""An answer as a small table with bars, for people. Pure: values in, text out."""

from __future__ import annotations

from collections.abc import Iterator

from client.decide.wording import Wording
from client.decisions import Answer
from client.table import bar
from client.terminal import shown

_BOLD, _PLAIN = "\x1b[1m", "\x1b[0m"


def table(answer: Answer, wording: Wording, *, colour: bool) -> str:
    """The question, a line an option, and how the numbers came about. colour: the most probable option in bold."""
    return "\n".join([f"  {shown(wording.question)}", *_options(answer, wording, colour), *_remarks(answer)])


def _options(answer: Answer, wording: Wording, colour: bool) -> Iterator[str]:
    names = {name: shown(name) for name in answer.option_ids}
    width = max(map(len, names.values()))
    for name, probability in zip(answer.option_ids, answer.probabilities, strict=True):
        mark, description = "▶" if name == answer.top else " ", shown(wording.options.get(name, ""))
        line = f"  {mark} {names[name]:<{width}}  {probability:6.1%}  {bar(probability)}  {description}".rstrip()
        yield f"{_BOLD}{line}{_PLAIN}" if colour and name == answer.top else line


def _remarks(answer: Answer) -> Iterator[str]:
    if answer.question_type == "score":
        yield f"    level {answer.raw['score']:.2f} of 0 to {len(answer.option_ids) - 1}"
    if answer.abstained:
        yield f"    abstained: {answer.top_probability:.1%} for the most probable is less than was asked for"
    yield f"    {'; '.join(_origin(answer))}"
    for warning in answer.warnings:
        yield f"    warning: {shown(warning)}"


def _origin(answer: Answer) -> Iterator[str]:
    yield f"{shown(answer.model)} by {shown(answer.readout)} ({shown(answer.prompt_version)})"
    calibrated = answer.calibration_version is not None
    yield f"calibrated, temperature {answer.temperature:.3g}" if calibrated else "not calibrated"
    if answer.input_tokens is not None:
        cached = "" if answer.cached_tokens is None else f", {answer.cached_tokens} of them cached"
        yield f"{answer.input_tokens} tokens{cached}"
    if not answer.readout.startswith("likelihood"):  # the longer the texts the less, whatever is right
        yield f"mass on the options {answer.label_mass:.3g}"
    if answer.rotation_spread is not None:
        yield f"moved by their order by up to {answer.rotation_spread:.1%}"
