"""What may stand on the command line as a contestant, and what is said of the rest."""

from __future__ import annotations

from pathlib import Path

import pytest

from client.comparison.contestants import Contestant, Endpoint, Local, Url, contestant, contestants
from client.errors import Refused


def test_a_file_with_its_wishes_is_read() -> None:
    found = contestant("q4=models/a=b.gguf,readout=likelihood,price=0.408,DECISION_N_THREADS=2,DECISION_N_CTX=1024")
    assert found == Contestant(
        name="q4",
        place=Local(path=Path("models/a=b.gguf"), settings=(("DECISION_N_CTX", "1024"), ("DECISION_N_THREADS", "2"))),
        readout="likelihood",
        hourly_price=0.408,
    )
    assert found.where == "models/a=b.gguf"
    assert found.wishes == "readout=likelihood, DECISION_N_CTX=1024, DECISION_N_THREADS=2"


def test_endpoints_and_addresses_are_told_apart_from_files() -> None:
    assert contestant("aws=endpoint:decision-dev-scoring").place == Endpoint(name="decision-dev-scoring")
    found = contestant("near=url:http://127.0.0.1:8080,prompt_version=criterion-first-v1")
    assert found.place == Url(url="http://127.0.0.1:8080")
    assert found.prompt_version == "criterion-first-v1"


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("model.gguf", "NAME=PLACE"),
        ("q4=", "NAME=PLACE"),
        ("../q4=x.gguf", "name '../q4'"),
        ("q4=x.gguf,read=letters", "read=letters"),
        ("q4=x.gguf,readout=", "readout="),
        ("q4=x.gguf,readout=letters,readout=likelihood", "readout stands twice"),
        ("q4=x.gguf,price=cheap", "'cheap'"),
        ("q4=x.gguf,price=-1", "'-1'"),
        ("q4=x.gguf,price=nan", "'nan'"),
        ("q4=x.gguf,DECISION_READOUT=letters", "takes readout="),
        ("q4=x.gguf,DECISION_PORT=1", "a free port is chosen"),
        ("a=endpoint:", "nothing stands behind endpoint:"),
        ("a=endpoint:b,DECISION_N_CTX=512", "a local server"),
    ],
)
def test_what_is_written_wrongly_is_refused_by_what_stands_there(text: str, named: str) -> None:
    with pytest.raises(Refused) as refused:
        contestant(text)
    assert named in str(refused.value)


def test_one_contestant_or_a_name_that_stands_twice_is_refused() -> None:
    with pytest.raises(Refused, match="two or more are needed"):
        contestants(["a=x.gguf"])
    with pytest.raises(Refused, match="A: the name stands more than once"):
        contestants(["A=x.gguf", "a=y.gguf"])
