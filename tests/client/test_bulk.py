"""`python -m client bulk` on an AWS in memory: what is asked, what is written, and with which exit code it ends."""

from __future__ import annotations

import json
from typing import Any

import pytest

from client import bulk_record
from client.bulk_store import BulkStore
from tests.client.conftest import Program, decision
from tests.client.fake_aws import DEFINITION, ENDPOINT, FakeCloudFormation, error


def ids(answers: list[dict[str, Any]]) -> list[str]:
    return [each["result"]["id"] if "result" in each else f"error {each['code']}" for each in answers]


def test_every_line_is_answered_in_its_place(cli: Program) -> None:
    lines = [decision(number) for number in range(100)]
    assert cli.bulk(cli.write(*lines)) == 0
    assert ids(cli.answers()) == [f"d{number}" for number in range(100)]


def test_a_line_is_a_decision_or_an_object_that_holds_one(cli: Program) -> None:
    assert cli.bulk(cli.write(decision(1), {"decision": decision(2)})) == 0
    assert ids(cli.answers()) == ["d1", "d2"]
    asked = [json.loads(body) for key, body in cli.s3.objects.items() if "/input/" in key and key.endswith(".jsonl")]
    assert asked == [{"decision": decision(1)}, {"decision": decision(2)}]


def test_the_job_is_the_stack_s_definition_with_folders_of_its_own(cli: Program) -> None:
    assert cli.bulk(cli.write(decision(1)), "--job-name", "mine") == 0
    request = cli.sagemaker.created[0]
    assert request["TransformJobName"] == "mine"
    assert request["TransformInput"]["DataSource"]["S3DataSource"]["S3Uri"].endswith("/input/mine/")
    assert request["TransformOutput"]["S3OutputPath"].endswith("/output/mine/")
    assert {name: request[name] for name in ("ModelName", "BatchStrategy", "TransformResources")} == {
        name: DEFINITION[name] for name in ("ModelName", "BatchStrategy", "TransformResources")
    }


def test_parts_keep_every_instance_busy_and_none_is_long(cli: Program) -> None:
    assert cli.bulk(cli.write(*(decision(number) for number in range(80))), "--job-name", "mine") == 0
    parts = [body for key, body in cli.s3.objects.items() if "/input/mine/" in key]
    assert [len(part.splitlines()) for part in parts] == [10] * 8


def test_a_part_is_bounded_in_bytes_too(cli: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk_record, "MAX_PART_BYTES", 1000)
    lines = [decision(number, state="x" * 600) for number in range(80)]
    assert cli.bulk(cli.write(*lines), "--job-name", "mine") == 0
    parts = [body for key, body in cli.s3.objects.items() if "/input/mine/" in key]
    assert [len(part.splitlines()) for part in parts] == [1] * 80
    assert ids(cli.answers()) == [f"d{number}" for number in range(80)]


def test_an_input_that_changes_while_it_is_sent_starts_no_job(
    cli: Program, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = cli.write(decision(1), decision(2))
    send = BulkStore.put_parts

    def changed(self: BulkStore, job: str, parts: Any) -> None:
        path.write_text(json.dumps(decision(1)) + "\n" + json.dumps(decision(3)) + "\n")
        send(self, job, parts)

    monkeypatch.setattr(BulkStore, "put_parts", changed)
    assert cli.bulk(path) == 2
    assert "changed while it was being read; no job was started" in capsys.readouterr().err
    assert cli.sagemaker.created == []


def test_a_second_job_that_is_not_started_leaves_a_run_that_can_go_on(
    cli: Program, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    create = cli.sagemaker.create_transform_job

    def only_the_first(**request: Any) -> None:
        if cli.sagemaker.created:
            raise error("ResourceLimitExceeded", "one at a time")
        create(**request)

    lines = [decision(number, state="refused" if number == 3 else "evidence") for number in range(40)]
    with monkeypatch.context() as patch:
        patch.setattr(cli.sagemaker, "create_transform_job", only_the_first)
        assert cli.bulk(cli.write(*lines), "--job-name", "mine") == 3
    assert "To go on: --resume mine" in capsys.readouterr().err
    assert cli.run("bulk", "--resume", "mine", "--output", str(cli.out)) == 1
    assert ids(cli.answers()) == [f"d{n}" if n != 3 else "error not_answered" for n in range(40)]


def test_a_line_that_the_server_refuses_has_an_error_in_its_place_and_costs_no_other_line(
    cli: Program, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = [decision(number, state="refused" if number in (3, 17) else "evidence") for number in range(40)]
    assert cli.bulk(cli.write(*lines), "--job-name", "mine") == 1
    answers = cli.answers()
    assert [each for each in ids(answers) if each.startswith("d")] == [f"d{n}" for n in range(40) if n not in (3, 17)]
    assert answers[3]["line"] == 4
    assert answers[3]["code"] == "not_answered"
    assert "/aws/sagemaker/TransformJobs" in answers[3]["error"]
    assert [each["TransformJobName"] for each in cli.sagemaker.created] == ["mine", "mine-r2"]
    assert "38 lines answered, 2 refused by the server, 0 left out" in capsys.readouterr().err


def test_an_error_that_the_server_puts_in_place_is_kept_as_it_is(cli: Program) -> None:
    assert cli.bulk(cli.write(decision(1), decision(2, state="error in place"), decision(3))) == 1
    assert cli.answers()[1] == {"error": "too long", "code": "context_overflow"}
    assert len(cli.sagemaker.created) == 1


def test_lines_that_cannot_be_asked_are_named_and_nothing_is_sent(
    cli: Program, capsys: pytest.CaptureFixture[str]
) -> None:
    path = cli.write(decision(1), "{", decision(3, options=[]), decision(4, state=7))
    assert cli.bulk(path) == 2
    told = capsys.readouterr().err
    assert "3 of 4 lines cannot be asked; nothing was sent" in told
    assert "line 2: not JSON" in told
    assert "line 3: decision.options: 0 given; 2 to 255 allowed" in told
    assert "line 4: decision.state: a number; a string, an object or a list is needed" in told
    assert "Remedy:" in told
    assert cli.s3.objects == {}
    assert not cli.out.exists()


def test_skipped_lines_are_written_down_beside_the_input_and_have_an_error_in_their_place(cli: Program) -> None:
    path = cli.write(decision(1), '{"half": ', decision(3))
    assert cli.bulk(path, "--skip-invalid") == 1
    assert ids(cli.answers()) == ["d1", "error left_out", "d3"]
    assert cli.answers()[1]["line"] == 2
    aside = [json.loads(line) for line in (cli.folder / "in.jsonl.invalid.jsonl").read_text().splitlines()]
    assert [(each["line"], each["text"]) for each in aside] == [(2, '{"half": ')]
    assert "not JSON" in aside[0]["error"]


def test_a_file_without_a_line_that_can_be_asked_starts_no_job(cli: Program) -> None:
    assert cli.bulk(cli.write("{"), "--skip-invalid") == 2
    assert cli.sagemaker.created == []


def test_a_line_over_the_payload_limit_is_refused_before_anything_is_sent(
    cli: Program, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.bulk(cli.write(decision(1, state="x" * 1_000_001))) == 2
    assert "at most 1000000 allowed" in capsys.readouterr().err


def test_a_job_that_answers_nothing_has_failed(cli: Program, capsys: pytest.CaptureFixture[str]) -> None:
    cli.sagemaker.broken = True
    assert cli.bulk(cli.write(decision(1), decision(2)), "--job-name", "mine") == 3
    told = capsys.readouterr().err
    assert "job mine failed and answered nothing" in told
    assert "--resume mine" in told
    assert not cli.out.exists()


def test_a_failed_run_is_asked_again_line_by_line_when_its_cause_is_mended(cli: Program) -> None:
    cli.sagemaker.broken = True
    assert cli.bulk(cli.write(decision(1), decision(2)), "--job-name", "mine") == 3
    cli.sagemaker.broken = False
    assert cli.run("bulk", "--resume", "mine", "--output", str(cli.out)) == 0
    assert ids(cli.answers()) == ["d1", "d2"]


def test_without_waiting_the_run_s_name_is_said_and_a_resume_fetches_the_answers(
    cli: Program, capsys: pytest.CaptureFixture[str]
) -> None:
    path = cli.write(decision(1), "{", decision(3))
    assert cli.run("bulk", "--endpoint-name", ENDPOINT, "--input", str(path), "--no-wait", "--skip-invalid") == 0
    name = capsys.readouterr().out.strip()
    assert name.startswith(f"{ENDPOINT}-")
    path.unlink()  # another machine does not have it
    assert cli.run("bulk", "--resume", name, "--output", str(cli.out)) == 1
    assert ids(cli.answers()) == ["d1", "error left_out", "d3"]


def test_a_stopped_run_goes_on_with_what_is_left(cli: Program, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [decision(number) for number in range(40)]
    path = cli.write(*lines)
    cli.run("bulk", "--endpoint-name", ENDPOINT, "--input", str(path), "--no-wait", "--job-name", "mine")
    cli.sagemaker.describe_transform_job(TransformJobName="mine")
    assert cli.run("bulk", "stop", "mine") == 0
    asked = len(cli.sagemaker.created[0])
    assert cli.run("bulk", "--resume", "mine", "--output", str(cli.out)) == 0
    assert ids(cli.answers()) == [f"d{number}" for number in range(40)]
    again = [body for key, body in cli.s3.objects.items() if "/input/mine-r2/" in key]
    assert sum(len(part.splitlines()) for part in again) < 40
    assert asked
    capsys.readouterr()
    assert cli.run("bulk", "stop", "mine") == 0
    assert "does not run: Completed" in capsys.readouterr().err


def test_a_run_whose_job_was_never_started_is_started_by_a_resume(
    cli: Program, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(**_: Any) -> None:
        raise error("ResourceLimitExceeded", "quota of 0 instances")

    with monkeypatch.context() as patch:
        patch.setattr(cli.sagemaker, "create_transform_job", refuse)
        assert cli.bulk(cli.write(decision(1)), "--job-name", "mine") == 2
    assert "quota of 0 instances" in capsys.readouterr().err
    assert cli.run("bulk", "--resume", "mine", "--endpoint-name", ENDPOINT, "--output", str(cli.out)) == 0
    assert ids(cli.answers()) == ["d1"]


def test_an_interrupted_wait_says_how_to_go_on_and_how_to_stop(
    cli: Program, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(**_: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr("client.bulk_command.pauses", interrupted)
    assert cli.bulk(cli.write(decision(1)), "--job-name", "mine") == 130
    told = capsys.readouterr().err
    assert "bulk --resume mine" in told
    assert "bulk stop mine" in told


def test_an_answer_to_another_decision_fails_the_run_instead_of_being_passed_on(
    cli: Program, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(cli.sagemaker, "answer", lambda body: b'{"result": {"id": "d9"}}')
    assert cli.bulk(cli.write(decision(1))) == 3
    assert "line 1: asked 'd1', and the answer is of 'd9'" in capsys.readouterr().err
    assert not cli.out.exists()


def test_a_part_with_too_few_answers_fails_the_run(
    cli: Program, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = cli.write(*(decision(number) for number in range(16)))
    cli.run("bulk", "--endpoint-name", ENDPOINT, "--input", str(path), "--no-wait", "--job-name", "mine")
    for _ in range(20):
        cli.sagemaker.describe_transform_job(TransformJobName="mine")
    key = next(key for key in cli.s3.objects if key.endswith("part-000000.jsonl.out"))
    cli.s3.objects[key] = cli.s3.objects[key].splitlines(keepends=True)[0]
    assert cli.run("bulk", "--resume", "mine", "--output", str(cli.out)) == 3
    assert "part-000000.jsonl: 2 lines, 2 asked, 1 answered" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "one of --input FILE and --resume JOB is needed"),
        (["--input", "in.jsonl"], "--endpoint-name is needed"),
        (["--input", "in.jsonl", "--endpoint-name", ENDPOINT], "--output FILE is needed"),
        (["--input", "in.jsonl", "--resume", "mine"], "one of --input"),
        (["--resume", "mine", "--job-name", "other", "--no-wait"], "--job-name names a new run"),
        (["--resume", "mine", "--output", "none/out.jsonl"], "no such folder"),
        (["--resume", "unknown", "--no-wait"], "no bulk run of this name"),
        (["--input", "none.jsonl", "--endpoint-name", ENDPOINT, "--no-wait"], "none.jsonl: No such file"),
        (["--input", "in.jsonl", "--endpoint-name", "other", "--no-wait"], "no stack of this name in eu-north-1"),
    ],
)
def test_what_cannot_be_started_is_said_with_exit_code_2(
    cli: Program, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    assert cli.run("bulk", *arguments) == 2
    assert message in capsys.readouterr().err


def test_an_output_that_is_there_is_not_written_over(cli: Program) -> None:
    cli.out.write_text("mine")
    assert cli.bulk(cli.write(decision(1))) == 2
    assert cli.out.read_text() == "mine"
    assert cli.s3.objects == {}


def test_a_job_name_is_used_once(cli: Program, capsys: pytest.CaptureFixture[str]) -> None:
    path = cli.write(decision(1))
    assert cli.bulk(path, "--job-name", "mine") == 0
    cli.out.unlink()
    before = dict(cli.s3.objects)
    assert cli.bulk(path, "--job-name", "mine") == 2
    assert "there is one of this name already" in capsys.readouterr().err
    assert cli.s3.objects == before


@pytest.mark.parametrize("name", ["-a", "a_b", "a" * 64, "a-"])
def test_a_job_name_that_sagemaker_would_refuse_is_refused_at_once(
    cli: Program, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.run("bulk", f"--job-name={name}")
    assert ended.value.code == 2
    assert "1 to 63 of" in capsys.readouterr().err


def test_an_endpoint_without_bulk_says_which_setting_is_missing(
    cli: Program, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(cli.clients.cloudformation, "outputs", FakeCloudFormation({}).outputs)
    assert cli.bulk(cli.write(decision(1))) == 2
    assert "give the endpoint the setting `bulk`" in capsys.readouterr().err


def test_runs_are_listed(cli: Program, capsys: pytest.CaptureFixture[str]) -> None:
    cli.bulk(cli.write(decision(1)), "--job-name", "mine")
    capsys.readouterr()
    assert cli.run("bulk", "list") == 0
    assert capsys.readouterr().out.split()[-2:] == ["Completed", "mine"]
