"""What the stand-in for docker reads in a Dockerfile: targets, pinned bases, environment, entry point."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from local.images import dockerfile
from local.images.errors import ImageError

PINNED = "public.ecr.aws/deep-learning-containers/llama-cpp@sha256:" + "1" * 64
OWN = Path(__file__).parents[2] / "container" / "Dockerfile"


@pytest.mark.parametrize(("target", "layers"), [("cpu", "0"), ("cuda", "-1")])
def test_the_containers_targets_differ_in_the_layers_that_go_to_the_gpu(target: str, layers: str) -> None:
    resolved = dockerfile.resolve(OWN.read_text(), target=target, arguments={"BASE_IMAGE": PINNED})
    assert resolved.base_image == PINNED
    assert resolved.environment["DECISION_N_GPU_LAYERS"] == layers
    assert resolved.environment["LLAMA_CPP_LIB_PATH"] == "/opt/llama.cpp/bin"
    assert resolved.entrypoint == ("/opt/decision/serve",)
    assert resolved.labels["com.amazonaws.sagemaker.capabilities.accept-bind-to-port"] == "true"


@pytest.mark.parametrize("base", ["", "python:3.12", "public.ecr.aws/x/y:v1", "public.ecr.aws/x/y@sha256:12"])
def test_a_base_image_that_is_not_pinned_by_digest_is_refused(base: str) -> None:
    with pytest.raises(ImageError, match="pinned as name@sha256:<64 hex>"):
        dockerfile.resolve(OWN.read_text(), target="cpu", arguments={"BASE_IMAGE": base})


def test_a_build_without_a_base_image_is_refused() -> None:
    with pytest.raises(ImageError, match=r"\(empty\).*BASE_IMAGE"):
        dockerfile.resolve(OWN.read_text(), target="cpu", arguments={})


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("FROM docker.io/library/python:3.12 AS tools", "pinned"),
        ("COPY --from=alpine:3 /bin/x /x", "images are not copied"),
    ],
)
def test_a_stage_that_would_pull_something_else_is_refused(line: str, reason: str) -> None:
    text = f'ARG BASE_IMAGE\nFROM ${{BASE_IMAGE}} AS cpu\nENTRYPOINT ["/x"]\n{line}\n'
    with pytest.raises(ImageError, match=reason):
        dockerfile.resolve(text, target="cpu", arguments={"BASE_IMAGE": PINNED})


def test_an_unknown_target_is_named_with_the_known_ones() -> None:
    with pytest.raises(ImageError, match=r"'gpu'.*base, cpu, cuda"):
        dockerfile.resolve(OWN.read_text(), target="gpu", arguments={"BASE_IMAGE": PINNED})


def test_a_build_argument_that_the_dockerfile_does_not_have_is_refused() -> None:
    with pytest.raises(ImageError, match="BASE_IMAGES: the Dockerfile has no ARG"):
        dockerfile.resolve(OWN.read_text(), target="cpu", arguments={"BASE_IMAGE": PINNED, "BASE_IMAGES": "x"})


@pytest.mark.parametrize("libraries", ["base", "compiled-cpu", "compiled-cuda"])
def test_the_containers_libraries_are_the_bases_or_compiled_on_it(libraries: str) -> None:
    arguments = {"BASE_IMAGE": PINNED, "LIBRARIES": libraries}
    resolved = dockerfile.resolve(OWN.read_text(), target="cuda", arguments=arguments)
    assert (resolved.base_image, resolved.arguments) == (PINNED, arguments)


def test_the_containers_libraries_are_the_bases_unless_others_are_asked_for() -> None:
    resolved = dockerfile.resolve(OWN.read_text(), target="cpu", arguments={"BASE_IMAGE": PINNED})
    assert resolved.arguments == {"BASE_IMAGE": PINNED, "LIBRARIES": "base"}


def runs(stage: str) -> list[str]:
    """The RUN instructions of one stage of the container's Dockerfile, without its comments."""
    after = re.split(rf"(?m)^FROM \S+ AS {stage}$", OWN.read_text())[1].partition("\nFROM ")[0]
    lines = [line for line in after.splitlines() if not line.lstrip().startswith("#")]
    return re.findall(r"(?m)^RUN (.*)$", re.sub(r"\\\n", " ", "\n".join(lines)))


@pytest.mark.parametrize("stage", ["compiler", "base"])
def test_all_that_pip_fetches_is_pinned_by_hash_and_it_fetches_no_build_tool_by_itself(stage: str) -> None:
    steps = [step for run in runs(stage) for step in run.split(";") if "-m pip" in step and "uninstall" not in step]
    assert len(steps) >= 2
    for step in steps:
        assert "--require-hashes" in step or "--no-index" in step, step
        assert "--only-binary :all:" in step or "--no-build-isolation" in step or "--no-index" in step, step


def test_the_compiling_stage_gets_what_amazon_linux_lacks_before_it_unpacks() -> None:
    (run,) = runs("compiler")
    installed = re.findall(r"dnf -y -q install ([^;]+);", run)[0].split()
    assert {"tar", "gzip", "gcc-c++"} <= set(installed)
    assert run.index("dnf -y -q install") < run.index("tar -xzf")


def test_an_image_for_gpus_is_checked_for_its_backend_unless_a_stand_in_says_that_it_has_none() -> None:
    assert set(runs("cuda")) == {"python /opt/decision/self_check.py $NEEDED_BACKEND"}
    assert 'ARG NEEDED_BACKEND="cuda"' in OWN.read_text()
    assert set(runs("cpu")) == {"python /opt/decision/self_check.py"}


@pytest.mark.parametrize("target", ["cpu", "cuda"])
def test_each_image_is_checked_as_root_and_as_another_user_and_is_left_to_run_as_root(target: str) -> None:
    stage = re.split(rf"(?m)^FROM base AS {target}$", OWN.read_text())[1].partition("\nFROM ")[0]
    steps = re.findall(r"(?m)^(USER|RUN) (\S+)", stage)
    assert steps == [("RUN", "python"), ("USER", "65534:65534"), ("RUN", "python"), ("USER", "root")]


def test_whatever_is_copied_into_the_image_has_its_modes_set_for_a_layer_keeps_those_that_it_came_with() -> None:
    stage = re.split(r"(?m)^FROM \S+ AS base$", OWN.read_text())[1]
    copies = re.findall(r"(?m)^COPY (\S+)", stage)
    assert sorted(copies) == ["--chmod=644", "--from=source"]
    assert [run.split(" ")[0] for run in runs("source")] == ["chmod"]


@pytest.mark.parametrize("libraries", ["mine", "compiled", ""])
def test_other_libraries_are_refused_and_those_that_there_are_named(libraries: str) -> None:
    arguments = {"BASE_IMAGE": PINNED, "LIBRARIES": libraries}
    with pytest.raises(ImageError) as caught:
        dockerfile.resolve(OWN.read_text(), target="cpu", arguments=arguments)
    assert str(caught.value) == f"--build-arg LIBRARIES={libraries}: base, compiled-cpu or compiled-cuda needed"


def test_settings_of_an_ancestor_stage_reach_the_target_and_the_target_wins() -> None:
    text = (
        "ARG BASE_IMAGE=" + PINNED + "\n"
        'FROM $BASE_IMAGE AS a\nENV X="1" \\\n    Y="two words"\nENTRYPOINT ["/one"]\n'
        "# a comment\nFROM a AS b\nENV X=2\n"
    )
    resolved = dockerfile.resolve(text, target="b", arguments={})
    assert (dict(resolved.environment), resolved.entrypoint) == ({"X": "2", "Y": "two words"}, ("/one",))
