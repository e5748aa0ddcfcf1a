"""`python -m client playground` as people start it, and the code that its page offers to copy, run."""

from __future__ import annotations

import ast
import json
import os
import shlex
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from selenium import webdriver

from client import __main__ as program
from client.errors import ANSWERED, REFUSED
from tests.client.playground.browser import needs_chromium
from tests.client.playground.page import Page
from tests.client.playground.process import Playground, playground
from tests.fixtures.tiny_gguf import write_tiny_llama
from tests.serving.server import ROOT, SERVE, Server

SETUPS: dict[str, dict[str, Any]] = {
    "choice": {
        "type": "choice",
        "state": 'It\'s "quoted",\nwith a \\ and ünï 🙂 $HOME `x`',
        "question": "Which?",
        "options": [{"id": "a'b", "description": "First."}, {"id": "c", "description": 'Sec"ond.'}],
        "sides": [{"readout": "likelihood", "version": "likelihood-v1"}, {"readout": "", "version": ""}],
    },
    "noul": {
        "type": "noul",
        "stateFormat": "json",
        "state": '{"n": [1, null, "x"]}',
        "question": "So?",
        "yes": "It is.",
    },
    "score": {"type": "score", "state": "Paid twice.", "question": "", "levels": ["Low.", "Mid.", "High."]},
}


def test_a_local_model_is_served_shown_and_ended_with_the_playground(tiny: Path, tmp_path: Path) -> None:
    with playground(tmp_path / "own", "--model", str(tiny), "--setting", "CHAT_N_CTX=0") as running:
        facts = running.get("api/target").json
        assert (facts["kind"], facts["no_prompts"], facts["model_path"]) == ("model", None, str(tiny))
        assert facts["settings"] == [["DECISION_CHAT_N_CTX", "0"]]
        options = [{"id": "a", "description": "A."}, {"id": "b", "description": "B."}]
        body = {"decision": {"id": "d", "state": "s", "question": "q", "options": options}}
        answer = running.post("api/ask/v1/decisions", body)
        prompts = running.post("api/prompts", body)
        assert prompts.json["prompt_sha256"] == answer.json["result"]["prompt_sha256"]
        port = int(facts["url"].rsplit(":", 1)[1])
        socket.create_connection(("127.0.0.1", port), timeout=5).close()
        assert running.stop() == ANSWERED
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", port), timeout=5)
    assert running.url in running.told


def test_ctrl_c_ends_it_with_0(running: Playground, server: Server, tmp_path: Path) -> None:
    with playground(tmp_path / "own", "--url", f"http://127.0.0.1:{server.port}") as started:
        started.process.send_signal(signal.SIGINT)
        assert started.process.wait(30) == ANSWERED


def test_it_listens_on_loopback_alone_and_its_address_is_a_new_one_each_time(
    running: Playground, server: Server, tmp_path: Path
) -> None:
    with playground(tmp_path / "own", "--url", f"http://127.0.0.1:{server.port}") as other:
        tokens = [one.url.split("/")[3] for one in (running, other)]
        assert tokens[0] != tokens[1]
        assert min(map(len, tokens)) >= 32
        with socket.socket() as outside, pytest.raises(OSError, match="refused"):
            outside.connect(("127.0.0.2", int(other.url.split(":")[2].split("/")[0])))


def test_a_server_with_a_key_is_asked_with_it_and_the_page_gets_only_the_variables_name(
    tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = "a-key-of-this-test-alone"
    monkeypatch.setenv("PLAYGROUND_KEY", key)
    settings = {"DECISION_MODEL_PATH": str(tiny), "DECISION_API_KEY": key, "DECISION_CHAT_N_CTX": "0"}
    with Server(SERVE, tmp_path / "server", settings) as server:
        url = f"http://127.0.0.1:{server.port}"
        with playground(tmp_path / "own", "--url", url, "--api-key-env", "PLAYGROUND_KEY") as started:
            told = started.get("api/target")
            assert told.json["api_key_variable"] == "PLAYGROUND_KEY"
            assert key not in told.body.decode() + started.told
            assert started.post("api/ask/v1/decisions", {}).status == 400
        assert program.main(["playground", "--port", "0", "--url", url]) == REFUSED


def test_what_cannot_work_is_refused_before_anything_is_served(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, tiny: Path, unused: int
) -> None:
    url = ["--url", f"http://127.0.0.1:{unused}"]
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        for arguments, told in (
            (["--port", "0", *url], f"http://127.0.0.1:{unused}: no server there"),
            (["--port", port, *url], f"--port {port}: cannot listen there"),
            (["--port", "0", "--model", str(tmp_path / "none.gguf")], "none.gguf"),
            (["--port", "0", "--model", str(tiny), "--prompts-of", str(tiny)], "--prompts-of: goes with --url"),
        ):
            assert program.main(["playground", *arguments]) == REFUSED
            assert told in capsys.readouterr().err


@pytest.mark.parametrize("free", ["9" * 5000, "9" * 10, "-1", "x"])
def test_a_token_that_is_none_is_refused(running: Playground, free: str) -> None:
    options = [{"id": "a", "description": "A."}, {"id": "b", "description": "B."}]
    body = {"decision": {"id": "d", "state": "s", "question": "q", "options": options}}
    assert running.post(f"api/prompts?free={free}", body).status == 400


@pytest.fixture
def unused() -> int:
    with socket.create_server(("127.0.0.1", 0)) as made:
        return int(made.getsockname()[1])


@needs_chromium
def test_prompts_of_other_weights_than_the_answers_are_not_shown(
    server: Server, tmp_path: Path, driver: webdriver.Chrome
) -> None:
    other = write_tiny_llama(tmp_path / "other.gguf", seed=9)
    url = f"http://127.0.0.1:{server.port}"
    with playground(tmp_path / "own", "--url", url, "--prompts-of", str(other)) as started:
        page = Page(driver=driver, url=started.url).open()
        assert page.text("#prompts").startswith("The answer is of other weights")
        assert page.all("#prompts .chip") == []


@needs_chromium
@pytest.mark.parametrize("kind", SETUPS)
def test_the_curl_command_asks_for_what_is_shown(page: Page, kind: str) -> None:
    page.load(**SETUPS[kind])
    if shutil.which("curl") is None:
        pytest.skip("no curl here")
    done = subprocess.run(["bash", "-c", page.text("#code")], capture_output=True, check=True, timeout=60)
    assert probabilities(json.loads(done.stdout)) == page.bars()


@needs_chromium
@pytest.mark.parametrize("kind", SETUPS)
def test_the_boto3_code_sends_the_body_that_curl_sends(page: Page, kind: str) -> None:
    page.load(**SETUPS[kind])
    curl = shlex.split(page.text("#code"))
    page.one("[value='boto3'] + span").click()
    (body,) = [
        node.value.value
        for node in ast.parse(page.text("#code")).body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
    ]
    assert body == curl[curl.index("-d") + 1]


@needs_chromium
@pytest.mark.parametrize("kind", SETUPS)
def test_the_client_code_gives_what_is_shown(page: Page, kind: str) -> None:
    page.load(**SETUPS[kind])
    page.one("[value='client'] + span").click()
    code = page.text("#code").replace("print(", "print(repr(dict(zip(answer.option_ids, answer.probabilities)))) #")
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, env=environment)
    assert done.returncode == 0, done.stderr
    assert ast.literal_eval(done.stdout) == page.bars()


@needs_chromium
def test_the_client_code_for_a_local_model_has_its_settings(
    tiny: Path, tmp_path: Path, driver: webdriver.Chrome
) -> None:
    settings = ("--setting", "READOUT=letters", "--setting", "DECISION_CHAT_N_CTX=0")
    with playground(tmp_path / "own", "--model", str(tiny), *settings) as started:
        page = Page(driver=driver, url=started.url).open()
        page.one("[value='client'] + span").click()
        code = page.text("#code")
        shown = page.bars()
    assert 'settings={"DECISION_READOUT": "letters", "DECISION_CHAT_N_CTX": "0"}' in code
    code = code.replace("print(", "print(repr(dict(zip(answer.option_ids, answer.probabilities)))) #")
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, env=environment)
    assert done.returncode == 0, done.stderr
    assert ast.literal_eval(done.stdout) == shown


def probabilities(told: dict[str, Any]) -> dict[str, float]:
    if "result" in told:
        return dict(zip(told["result"]["option_ids"], told["result"]["probabilities"], strict=True))
    answer = told["answers"]["answer"]
    if answer["type"] == "noul":
        return {"yes": answer["noul"], "no": 1 - answer["noul"]}
    found: dict[str, float] = answer["probabilities"]
    return found
