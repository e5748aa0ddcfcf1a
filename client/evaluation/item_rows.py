"""A row of a CSV file → the labelled decision in it. Columns by name, in any order:

`id`, `state`, `question` and `expected` are needed; `family`, `group`, `language` and `note` may be there. The options
stand in columns named `option:ID`, a description in each cell, where an empty cell means that this row has no such
option; or in a column `options` as a JSON object of descriptions by id. With a column `type` of `noul`, `choice` or
`score` a row is asked in the form of System One, and `options` is its `criteria`; with none, or an empty cell, it is a
decision of contract 3.1. A noul's `expected` may be true or false, in any letter case.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from client.evaluation.item import Item
from client.evaluation.item_lines import items_of
from client.json_lines import BadLine

OPTION = "option:"
NEEDED = ("id", "state", "question", "expected")
BOOLEANS = {"true": True, "false": False}  # of a noul; spreadsheets write them in capitals
KNOWN = (*NEEDED, "options", "type", "family", "group", "language", "note")


def read(content: bytes) -> Iterator[tuple[int, Sequence[Item] | BadLine]]:
    """The number of each row's last line, from 1, and its item or why it is none. UTF-8, with or without a byte order
    mark, as spreadsheets write it.
    """
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        yield 1, BadLine(f"byte {error.start} is not UTF-8; save the table as CSV in UTF-8")
        return
    rows = csv.DictReader(io.StringIO(text, newline=""), strict=True)
    try:
        _check_columns(rows.fieldnames or ())
        for row in rows:
            if any(row.values()):
                try:
                    yield rows.line_num, items_of(json.dumps(_line_of(row), ensure_ascii=False).encode("utf-8"))
                except BadLine as error:
                    yield rows.line_num, error
    except BadLine as error:
        yield 1, error
    except csv.Error as error:
        yield rows.line_num, BadLine(f"not CSV: {error}")


def _check_columns(names: Sequence[str]) -> None:
    for sign, word in ((";", "semicolons"), ("\t", "tabs")):
        if len(names) == 1 and sign in names[0]:
            raise BadLine(f"its columns are parted by {word}; save the table as CSV with commas between its columns")
    for name in NEEDED:
        if name not in names:
            raise BadLine(f"no such column; needed are {', '.join(NEEDED)}", field=name)
    for name in names:
        if name not in KNOWN and not name.startswith(OPTION):
            raise BadLine(f"not a known column; known are {', '.join(KNOWN)} and {OPTION}ID", field=name[:60])


def _line_of(row: Mapping[str | Any, Any]) -> dict[str, Any]:
    """As `item_lines` reads it."""
    if None in row or None in row.values():
        raise BadLine("has not as many cells as the first line; quote cells that hold a comma")
    line: dict[str, Any] = {name: row[name] for name in ("id", "state", "expected")}
    line.update({name: row[name] for name in ("family", "group", "language", "note") if row.get(name)})
    if row.get("type") == "noul":
        line["expected"] = BOOLEANS.get(row["expected"].lower(), row["expected"])
    options = _options(row)
    if row.get("type"):
        return {**line, "question": {"type": row["type"], "instructions": row["question"], "criteria": options}}
    if not isinstance(options, dict):
        raise BadLine("an object of descriptions by id is needed", field="options")
    listed = [{"id": name, "description": description} for name, description in options.items()]
    return {**line, "question": row["question"], "options": listed}


def _options(row: Mapping[str, str]) -> Any:
    columns = {name[len(OPTION) :]: cell for name, cell in row.items() if name and name.startswith(OPTION) and cell}
    written = row.get("options")
    if columns and written:
        raise BadLine(f"stands beside columns {OPTION}ID with text; use one of the two", field="options")
    if not written:
        return columns or None
    try:
        return json.loads(written)
    except ValueError as error:
        raise BadLine(f"not JSON: {error}", field="options") from error
