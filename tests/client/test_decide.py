"""`python -m client decide`: what is asked, whom, and what is told of it to people and to programs."""

from __future__ import annotations

import io
import json
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from client import __main__ as program
from tests.client.fake_runtime import ENDPOINT, Runtime, wrapped
from tests.client.gateway_process import CREDENTIALS
from tests.serving.server import ROOT, Server, decision

ASKS = ("--state", "Charged twice.", "--question", "Which team?")
TWO = ("--option", "pay=Payments = invoices.", "--option", "login=Access.")


class Terminal:
    """The command against one target."""

    def __init__(self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *target: str) -> None:
        self._capsys, self._monkeypatch, self._target = capsys, monkeypatch, target
        self.out, self.err = "", ""

    def decide(self, *arguments: str, stdin: bytes = b"") -> int:
        self._monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        code = program.main(["decide", *self._target, *arguments])
        self.out, self.err = self._capsys.readouterr()
        return code

    @property
    def told(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.out.splitlines()]


@pytest.fixture
def terminal(tiny_server: Server, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Terminal:
    return Terminal(capsys, monkeypatch, "--url", f"http://127.0.0.1:{tiny_server.port}")


@pytest.fixture
def through_sagemaker(
    tiny_runtime: Runtime, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Terminal:
    return Terminal(capsys, monkeypatch, "--endpoint-name", ENDPOINT)


# for people


def test_people_see_the_question_a_bar_for_each_option_and_where_it_comes_from(terminal: Terminal) -> None:
    assert terminal.decide(*ASKS, *TWO) == 0
    question, first, second, origin, *_ = terminal.out.splitlines()
    assert question == "  Which team?"
    assert first.endswith("Payments = invoices.")
    assert second.endswith("Access.")
    assert [line[2] for line in (first, second)].count("▶") == 1
    assert "%" in first
    assert origin.startswith("    tiny by letters (direct-options-v1); not calibrated; ")
    assert "mass on the options" in origin
    assert "warning: allowed_token_mass" in terminal.out
    assert terminal.decide(*ASKS, *TWO, "--readout", "likelihood") == 0
    assert "mass on the options" not in terminal.out  # by likelihood a small one says nothing


def test_each_type_of_question_is_asked_from_flags(terminal: Terminal) -> None:
    assert terminal.decide(*ASKS, "--type", "noul", "--true", "It is.", "--false", "It is not.") == 0
    assert "yes" in terminal.out
    assert "It is not." in terminal.out
    assert terminal.decide(*ASKS, "--type", "choice", "--option", "bare", "--option", "b=Described.") == 0
    assert "bare" in terminal.out
    assert terminal.decide(*ASKS, "--type", "score", "--level", "low", "--level", "high", "--level", "top") == 0
    assert "of 0 to 2" in terminal.out


def test_a_readout_and_a_threshold_are_passed_on(terminal: Terminal) -> None:
    wishes = ("--readout", "likelihood", "--prompt-version", "likelihood-v1", "--abstain-below", "1")
    assert terminal.decide(*ASKS, *TWO, *wishes) == 0
    assert "by likelihood (likelihood-v1)" in terminal.out
    assert "abstained: " in terminal.out
    assert terminal.decide(*ASKS, "--type", "noul", *wishes, "--json") == 0
    assert terminal.told[0]["abstained"] is True
    assert terminal.told[0]["readout"] == "likelihood"


def test_what_would_move_a_terminal_s_cursor_is_shown_as_text(terminal: Terminal) -> None:
    assert (
        terminal.decide("--state", "x", "--question", "Which\x1b[2J?", "--option", "a=A\n\x07", "--option", "b=B") == 0
    )
    assert "Which\\x1b[2J?" in terminal.out
    assert "A\\n\\x07" in terminal.out


# for programs


def test_programs_get_a_line_of_json_with_all_that_is_known(terminal: Terminal, tiny_server: Server) -> None:
    assert terminal.decide(*ASKS, *TWO, "--json") == 0
    (told,) = terminal.told
    asked = decision(id="asked", state="Charged twice.", question="Which team?")
    asked["options"] = [{"id": "pay", "description": "Payments = invoices."}, {"id": "login", "description": "Access."}]
    expected = tiny_server.ask({"decision": asked}).json["result"]
    assert (told["id"], told["line"]) == ("asked", None)
    assert told["probabilities"] == expected["probabilities"]
    assert told["option_logits"] == expected["option_logits"]
    assert told["top"] == told["option_ids"][told["probabilities"].index(told["top_probability"])]
    assert told["raw"]["prompt_sha256"] == expected["prompt_sha256"] == told["prompt_sha256"]


def test_an_error_is_a_line_of_json_too(terminal: Terminal) -> None:
    assert terminal.decide(*ASKS, "--option", "a=Alone.", "--json") == 2
    (told,) = terminal.told
    assert (told["code"], told["field"], told["status"], told["retryable"]) == (
        "bad_value",
        "decision.options",
        400,
        False,
    )
    assert told["request_id"]
    assert terminal.decide("--json") == 2
    assert terminal.told[0]["code"] == "refused"
    assert terminal.err == ""


# files and standard input


def test_a_body_of_either_section_is_read_from_a_file_or_standard_input(terminal: Terminal, tmp_path: Path) -> None:
    questions = {"q": {"type": "noul", "instructions": "So?"}, "s": {"type": "score", "criteria": ["a", ["b"]]}}
    bodies: list[Any] = [
        decision(),
        {"decision": decision()},
        {"decisions": [decision(id="1"), decision(id="2")]},
        {"state": {"n": 1}, "questions": questions},
        {"model": "jev-latest", "state": "x", "questions": questions, "x_readout": "likelihood"},
    ]
    path = tmp_path / "body.json"
    expected = [["d"], ["d"], ["1", "2"], ["q", "s"], ["q", "s"]]
    for body, ids in zip(bodies, expected, strict=True):
        path.write_text(json.dumps(body, indent=1))
        assert terminal.decide("--input", str(path), "--json") == 0
        assert [each["id"] for each in terminal.told] == ids
        assert terminal.decide("--input", "-", stdin=json.dumps(body).encode() + b"\n") == 0
        assert terminal.out


def test_lines_are_answered_in_their_order_and_one_that_is_refused_costs_no_other(terminal: Terminal) -> None:
    asked = [decision(id=str(number), question=f"Which, {number}?") for number in range(20)]
    asked[7]["options"] = []
    content = b"\n".join(json.dumps(each).encode() for each in asked)
    assert terminal.decide("--input", "-", "--json", "--concurrency", "8", stdin=content) == 1
    assert [each["line"] for each in terminal.told] == list(range(1, 21))
    assert terminal.told[7]["field"] == "decision.options"
    assert [each["id"] for each in terminal.told[8:]] == [str(number) for number in range(8, 20)]
    assert terminal.decide("--input", "-", stdin=content) == 1
    assert "line 8: decision.options" in terminal.err
    assert "line 9: 8" in terminal.out


def test_a_line_that_cannot_be_read_stops_it_before_anything_is_asked(terminal: Terminal, tiny_server: Server) -> None:
    before = tiny_server.metric("decision_requests_total")
    for line, says in [(b"nonsense", "line 2: not JSON"), (b'{"a": 1}', "line 2: its keys are 'a'"), (b"", "line 2")]:
        content = json.dumps(decision()).encode() + b"\n" + line + b"\n" + json.dumps(decision()).encode()
        assert terminal.decide("--input", "-", stdin=content) == 2
        assert says in terminal.err
    assert tiny_server.metric("decision_requests_total") == before


def test_a_state_is_text_json_or_a_file(terminal: Terminal, tmp_path: Path) -> None:
    path = tmp_path / "state.txt"
    path.write_text("Charged twice.")
    hashes = []
    for state in [("--state", "Charged twice."), ("--state-file", str(path)), ("--state-file", "-")]:
        assert terminal.decide(*state, *ASKS[2:], *TWO, "--json", stdin=b"Charged twice.") == 0
        hashes.append(terminal.told[0]["prompt_sha256"])
    assert len(set(hashes)) == 1
    assert terminal.decide("--state-json", '{"charged": 2}', *ASKS[2:], *TWO, "--json") == 0
    assert terminal.told[0]["prompt_sha256"] != hashes[0]


def test_flags_wish_for_all_of_a_file_and_no_line_may_wish_otherwise(terminal: Terminal) -> None:
    question = {"type": "noul", "instructions": "So?"}
    bodies: list[Any] = [
        decision(),
        {"decisions": [decision(id="1"), decision(id="2", readout="likelihood")]},
        {"state": "x", "questions": {"q": question, "r": {**question, "x_abstain_below": 1}}},
    ]
    wishes = ("--readout", "likelihood", "--prompt-version", "likelihood-v1", "--abstain-below", "1")
    content = b"\n".join(json.dumps(each).encode() for each in bodies)
    assert terminal.decide("--input", "-", "--json", *wishes, stdin=content) == 0
    assert [each["readout"] for each in terminal.told] == 5 * ["likelihood"]
    assert [each["abstained"] for each in terminal.told] == 5 * [True]
    assert terminal.decide("--input", "-", "--readout", "letters", stdin=content) == 2
    assert "line 2: it has 'readout': 'likelihood', and --readout says 'letters'" in terminal.err
    assert terminal.decide("--input", "-", "--abstain-below", "0.5", stdin=content) == 2
    assert "line 3: it has 'x_abstain_below': 1, and --abstain-below says 0.5" in terminal.err


def test_a_first_line_that_cannot_be_read_has_its_number_too(terminal: Terminal) -> None:
    asked = json.dumps(decision()).encode()
    assert terminal.decide("--input", "-", stdin=asked[:-1] + b"\n" + asked) == 2
    assert "--input -, line 1: not JSON" in terminal.err
    spread = json.dumps(decision(), indent=1).encode().replace(b"evidence", b'evi"dence') + b"}"
    assert terminal.decide("--input", "-", stdin=spread) == 2
    assert "--input -: not JSON" in terminal.err
    assert "at its line " in terminal.err


# what cannot be asked


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((), "nothing is asked"),
        ((*ASKS[2:], *TWO), "0 states"),
        ((*ASKS, "--state-json", "1", *TWO), "2 states"),
        ((*ASKS[:2], *TWO), "--question: missing"),
        ((*ASKS, *TWO, "--input", "x"), "--state: goes without --input"),
        (("--level", "low", "--input", "x"), "--level: goes without --input"),
        ((*ASKS, "--option", "a", "--option", "b"), "--option a: no description"),
        ((*ASKS, "--level", "a"), "--level: not with a decision"),
        ((*ASKS, "--type", "noul", "--option", "a"), "--option: not with --type noul, which has --true and --false"),
        ((*ASKS, "--type", "choice", "--option", "a", "--option", "a=A"), "--option a: given twice"),
        (("--state-json", "{", *ASKS[2:], *TWO), "--state-json: not JSON"),
        (("--input", "absent.json"), "--input absent.json: No such file"),
        (("--state-file", "absent.txt", *ASKS[2:], *TWO), "--state-file absent.txt: No such file"),
        (("--state-json", '{"a": 1, "a": 2}', *ASKS[2:], *TWO), "--state-json: the key 'a' stands more than once"),
        (("--state-json", "[" * 100_000, *ASKS[2:], *TWO), "--state-json: nests deeper than 64 levels"),
        (("--state-json", "1, 2", *ASKS[2:], *TWO), "--state-json: not JSON: Extra data at column 2"),
        (("--state-json", "1e999", *ASKS[2:], *TWO), "--state-json: inf; only finite numbers"),
        ((*ASKS, *TWO, "--abstain-below", "nan"), "--abstain-below nan: more than 0 and at most 1"),
        ((*ASKS, *TWO, "--abstain-below", "0"), "--abstain-below 0: more than 0 and at most 1"),
        ((*ASKS[:3], "\udcff", *TWO), "--question: not UTF-8"),
        ((*ASKS, "--option", "a=\udcff"), "--option: not UTF-8"),
        ((*ASKS, *TWO, "--region", "eu-north-1"), "--region: goes with --endpoint-name"),
        ((*ASKS, *TWO, "--setting", "N_CTX=512"), "--setting: goes with --model"),
        ((*ASKS, *TWO, "--api-key-env", "NO_SUCH_VARIABLE"), "--api-key-env NO_SUCH_VARIABLE: no such variable"),
    ],
)
def test_what_cannot_be_asked_is_refused_by_its_name(terminal: Terminal, arguments: tuple[str, ...], says: str) -> None:
    assert terminal.decide(*arguments) == 2
    assert says in terminal.err
    assert terminal.out == ""


def test_whom_cannot_be_asked_is_refused_with_a_remedy(
    tiny_runtime: Runtime, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*target: str) -> str:
        terminal = Terminal(capsys, monkeypatch, *target)
        assert terminal.decide(*ASKS, *TWO) == 2
        assert terminal.out == ""
        return terminal.err

    assert "no server there" in refused("--url", "http://127.0.0.1:9")
    for url in ("127.0.0.1:9", "http://127.0.0.1:99999", "http://127.0.0.1:abc", "http://:9", "http://[", "http://a b"):
        assert f"--url {url}: not a URL" in refused("--url", url)
    assert "no such file or folder" in refused("--model", "absent.gguf")
    assert "not found" in refused("--endpoint-name", "other")
    tiny_runtime.faults[:] = [wrapped(401, b'{"error": "the key", "code": "authentication_error"}')]
    assert "the key" in refused("--endpoint-name", ENDPOINT)
    monkeypatch.delenv("AWS_DEFAULT_REGION")
    assert "Remedy: --region" in refused("--endpoint-name", ENDPOINT)
    for name in CREDENTIALS:
        monkeypatch.delenv(name, raising=False)
    assert "no AWS credentials. Remedy:" in refused("--endpoint-name", ENDPOINT, "--region", "eu-north-1")


def test_a_fault_that_a_person_has_to_mend_ends_it_at_the_first_line(
    through_sagemaker: Terminal, tiny_runtime: Runtime
) -> None:
    tiny_runtime.faults[:] = [wrapped(401, b'{"error": "the key", "code": "authentication_error"}')]
    content = b"\n".join(json.dumps(decision(id=str(number))).encode() for number in range(50))
    code = through_sagemaker.decide("--input", "-", "--json", "--concurrency", "1", stdin=content)
    assert code == 2
    assert [each["code"] for each in through_sagemaker.told] == ["authentication_error"] + 49 * ["not_asked"]
    assert [each["line"] for each in through_sagemaker.told] == list(range(1, 51))


def test_what_no_server_answered_has_an_exit_code_of_its_own(
    through_sagemaker: Terminal, tiny_runtime: Runtime
) -> None:
    told = b'{"error": "full", "code": "queue_full", "retryable": true, "retry_after_seconds": 100}'
    tiny_runtime.faults[:] = [wrapped(503, told)]
    assert through_sagemaker.decide(*ASKS, *TWO) == 3
    assert "decide: full; it may be answered later" in through_sagemaker.err
    assert through_sagemaker.decide(*ASKS, *TWO) == 0


def test_a_local_model_tells_its_progress_beside_the_answer(
    tiny_model: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal = Terminal(capsys, monkeypatch, "--model", str(tiny_model), "--setting", "N_THREADS=1")
    assert terminal.decide(*ASKS, *TWO, "--setting", "DECISION_READOUT=likelihood", "--json") == 0
    assert terminal.told[0]["readout"] == "likelihood"
    assert "is loaded" in terminal.err


def test_an_interrupt_ends_it_at_once(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with subprocess.Popen(
            [sys.executable, "-m", "client", "decide", "--url", url, *ASKS, *TWO, "--deadline", "3600"],
            stderr=subprocess.PIPE,
            cwd=ROOT,
            text=True,
        ) as asking:
            with silent.accept()[0] as connection:
                assert connection.recv(1)
                asking.send_signal(signal.SIGINT)
                assert asking.wait(60) == 130
            assert asking.stderr is not None
            assert asking.stderr.read() == "decide: interrupted\n"


def test_an_api_key_comes_from_the_environment(
    tiny_server: Server, terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OWN_KEY", "sixteen-letters-k")
    assert terminal.decide(*ASKS, *TWO, "--api-key-env", "OWN_KEY") == 0
    assert "sixteen" not in terminal.out + terminal.err
