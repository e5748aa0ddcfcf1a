"""A decision's result as a small table with bars, for people. Pure: values in, text out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from client.terminal import shown

BAR_WIDTH = 24
_EIGHTHS = " ▏▎▍▌▋▊▉"
_BOLD, _PLAIN = "\x1b[1m", "\x1b[0m"


def render_decision(result: Mapping[str, Any], options: Sequence[Mapping[str, str]], *, colour: bool = False) -> str:
    """result: contract section 3.3. options: {id, description} as they were asked, in any order.

    One line an option in the request's order: id, probability, bar, logit, description; the most probable one is
    marked. Then where the time went. colour: the most probable option in bold, for a terminal. Raises KeyError for a
    result of other options.
    """
    descriptions = {option["id"]: option["description"] for option in options}
    ids: list[str] = list(result["option_ids"])
    probabilities: list[float] = list(result["probabilities"])
    logits: list[float] = list(result["option_logits"])
    best = max(range(len(ids)), key=probabilities.__getitem__)
    names = {each: shown(each) for each in ids}
    width = max(map(len, names.values()))
    lines = []
    for index, (name, probability, logit) in enumerate(zip(ids, probabilities, logits, strict=True)):
        mark = "▶" if index == best else " "
        described = shown(descriptions[name])
        line = f"  {mark} {names[name]:<{width}}  {probability:6.1%}  {bar(probability)}  {logit:8.3f}  {described}"
        lines.append(f"{_BOLD}{line}{_PLAIN}" if colour and index == best else line)
    return "\n".join([*lines, _where_the_time_went(result)])


def bar(share: float, width: int = BAR_WIDTH) -> str:
    """share in [0, 1] as `width` cells, to an eighth of a cell."""
    eighths = round(share * width * 8)
    full, part = divmod(eighths, 8)
    cells = "█" * full + (_EIGHTHS[part] if part else "")
    return cells.ljust(width)


def _where_the_time_went(result: Mapping[str, Any]) -> str:
    timing = result["timing"]
    parts = [f"{name} {timing[f'{name}_seconds'] * 1000:.1f} ms" for name in ("queue", "encode", "forward", "total")]
    told = f"    {', '.join(parts)}; {result['input_tokens']} tokens, {timing['cached_tokens']} of them cached"
    if str(result.get("readout")).startswith("likelihood"):  # the longer the texts the less, whatever is right
        return told
    return f"{told}; mass on the options {result['allowed_token_mass']:.3g}"
