"""Settings are a closed list (F17)."""

from pathlib import Path

import pytest

from decision_server.config import ConfigError, load


def test_no_settings_give_the_documented_defaults() -> None:
    config = load({})
    assert (config.host, config.port, config.model_path) == ("0.0.0.0", 8080, Path("/opt/ml/model"))
    assert config.gguf_sha256 is None
    assert (config.n_ctx, config.n_threads, config.readout, config.prompt_version) == (None, None, None, None)
    assert (config.queue_size, config.deadline_seconds, config.read_timeout_seconds) == (64, 50, 10)
    assert (config.max_body_bytes, config.max_decisions, config.prefix_streams) == (1048576, 64, 8)


def test_the_documented_table_and_the_code_have_the_same_settings() -> None:
    page = (Path(__file__).parents[2] / "docs/interfaces.md").read_text(encoding="utf-8")
    documented = {line.split("`")[1] for line in page.splitlines() if line.startswith("| `DECISION_")}
    with pytest.raises(ConfigError) as caught:
        load({"DECISION_NO_SUCH": "1"})
    known = set(str(caught.value).split("known are ")[1].split(", "))
    assert known == documented


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("DECISION_PORT", "80a"),
        ("DECISION_PORT", "65536"),
        ("DECISION_PORT", "-1"),
        ("DECISION_PORT", ""),
        ("SAGEMAKER_BIND_TO_PORT", "x"),
        ("DECISION_QUEUE_SIZE", "0"),
        ("DECISION_QUEUE_SIZE", "4.5"),
        ("DECISION_DEADLINE_SECONDS", "nan"),
        ("DECISION_DEADLINE_SECONDS", "inf"),
        ("DECISION_DEADLINE_SECONDS", "0.5"),
        ("DECISION_N_CTX", "255"),
        ("DECISION_N_THREADS", "0"),
        ("DECISION_N_GPU_LAYERS", "-2"),
        ("DECISION_READOUT", "Letters"),
        ("DECISION_LOG_LEVEL", "trace"),
        ("DECISION_HOST", "localhost"),
        ("DECISION_MODEL_PATH", " "),
        ("DECISION_GGUF_SHA256", "AB" * 32),
        ("DECISION_GGUF_SHA256", "ab" * 31),
        ("DECISION_GGUF_SHA256", ""),
        ("DECISION_UNKNOWN", "1"),
        ("GUNICORN_CMD_ARGS", "--workers 4"),
    ],
)
def test_a_setting_that_cannot_be_used_is_named_with_its_value(name: str, value: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load({name: value})
    assert name in str(caught.value)
    if value.strip() and not name.endswith(("UNKNOWN", "ARGS")):
        assert value in str(caught.value)


def test_the_platforms_port_wins_over_our_own() -> None:
    assert load({"SAGEMAKER_BIND_TO_PORT": "9000", "DECISION_PORT": "9001"}).port == 9000


def test_variables_of_others_are_left_alone() -> None:
    assert load({"PATH": "/bin", "SAGEMAKER_MODEL_SERVER_WORKERS": "3", "DECISIONS": "x"}).port == 8080


def test_the_pinned_weights_are_the_environments() -> None:
    assert load({"DECISION_GGUF_SHA256": "0a" * 32}).gguf_sha256 == "0a" * 32
