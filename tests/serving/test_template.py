"""The model's chat template as a fixed frame: what is refused at start-up, and that requests cannot steer it."""

from __future__ import annotations

import pytest

from decision_server.model_errors import StartupFailure
from decision_server.template import frame
from tests.fixtures.tiny_gguf import CHATML_NO_THINKING


def framed(template: str | None, system: str | None = "Be brief.") -> tuple[str, str]:
    result = frame(template, system=system, bos_token="<s>", eos_token="</s>")
    return result.before, result.after


def test_thinking_is_off_and_the_answer_is_opened() -> None:
    before, after = framed(CHATML_NO_THINKING)
    assert before == "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\n"
    assert after == "<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n"


def test_a_prompt_version_may_have_no_system_turn() -> None:
    before, _ = framed(CHATML_NO_THINKING, system=None)
    assert before == "<|im_start|>user\n"


@pytest.mark.parametrize("template", [None, ""])
def test_a_model_without_a_template_is_refused(template: str | None) -> None:
    with pytest.raises(StartupFailure, match=r"no tokenizer\.chat_template"):
        framed(template)


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ("{{ raise_exception('no system turn here') }}", "no system turn here"),
        ("{% for m in messages %}{{ m.content", "cannot be rendered"),
        ("{% for m in messages %}{{ m.content | upper }}{% endfor %}", "0 times"),
        ("{% for m in messages %}{{ m.content }}{{ m.content }}{% endfor %}", "2 times"),
        ("{% for m in messages if m.role == 'user' %}{{ m.content }}{% endfor %}", "leaves the system turn out"),
        ("{% for m in messages %}{{ m.content | replace('A b', 'x') }}{% endfor %}", "changes the text"),
        ("{{ ''.__class__.__mro__ }}{% for m in messages %}{{ m.content }}{% endfor %}", "unsafe"),
        ("{{ messages.append(1) }}", "unsafe|cannot be rendered"),
        ("{{ strftime_now('%Y') }}{% for m in messages %}{{ m.content }}{% endfor %}", "strftime_now"),
    ],
)
def test_a_template_that_cannot_frame_a_prompt_stops_the_start(template: str, message: str) -> None:
    with pytest.raises(StartupFailure, match=message):
        framed(template)


def test_a_template_that_asks_for_the_date_gets_its_own_fixed_one() -> None:
    template = (
        "{%- if strftime_now is defined %}{{ strftime_now('%d') }}{% else %}26 Jul 2024{% endif %}"
        "{% for m in messages %}[{{ m.content }}]{% endfor %}"
    )
    assert framed(template)[0] == "26 Jul 2024[Be brief.]["


def test_templates_may_use_loop_controls_and_tojson_and_the_special_tokens() -> None:
    template = (
        "{{ bos_token }}{{ {'é': 1} | tojson }}"
        "{% for m in messages %}{{ m.content }}{% if loop.last %}{% break %}{% endif %}{% endfor %}{{ eos_token }}"
    )
    assert framed(template) == ('<s>{"é": 1}Be brief.', "</s>")
