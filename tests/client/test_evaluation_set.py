"""The labelled set that the project ships: every line can be asked, and no mere habit scores well on it."""

from __future__ import annotations

import hashlib
import json
import unicodedata
from collections import Counter, defaultdict
from pathlib import Path

import pytest

from client.decisions import Choice, Noul, Score
from client.evaluation import items
from client.evaluation.item import Item

SET = Path(__file__).resolve().parents[2] / "evaluation_sets" / "everyday.jsonl"
RESULTS = SET.parent / "results"
KEPT = "everyday-smollm2-135m-instruct-q8_0"
FAMILIES = {"routing", "extraction", "tool", "moderation", "policy", "fact", "urgency"}
LANGUAGES = {"en", "de", "fr", "es", "pt", "ja", "hi"}


@pytest.fixture(scope="module")
def everyday() -> tuple[Item, ...]:
    return items.read(SET)


def by_group(everyday: tuple[Item, ...]) -> dict[str, list[Item]]:
    groups: dict[str, list[Item]] = defaultdict(list)
    for item in everyday:
        if item.group is not None:
            groups[item.group].append(item)
    return groups


def one_each(everyday: tuple[Item, ...]) -> list[Item]:
    """Without the second wording of a pair: the situations."""
    return list({item.group or item.id: item for item in reversed(everyday)}.values())


def folded(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True)
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def test_at_least_96_decisions_of_every_family_in_seven_languages(everyday: tuple[Item, ...]) -> None:
    assert len(everyday) >= 96
    families = Counter(item.family for item in everyday)
    assert set(families) == FAMILIES
    assert min(families.values()) >= 12
    languages = Counter(item.language for item in everyday)
    assert set(languages) == LANGUAGES
    assert min(languages.values()) >= 6
    assert languages["en"] > len(everyday) / 2


def test_every_right_answer_is_an_option_and_no_two_options_say_the_same(everyday: tuple[Item, ...]) -> None:
    for item in everyday:
        assert item.expected in item.option_ids, item.id
        match item.question:
            case Choice(options=options):
                said = [folded(text) for text in options.values()]
            case Score(levels=levels):
                said = [folded(text) for text in levels]
            case _:
                continue
        assert len(set(said)) == len(said), item.id


def test_at_least_30_pairs_of_paraphrases_with_one_right_answer(everyday: tuple[Item, ...]) -> None:
    groups = by_group(everyday)
    assert len(groups) >= 30
    for name, members in groups.items():
        assert len(members) == 2, name
        first, second = members
        assert first.option_ids == second.option_ids, name
        assert (first.expected, first.family, first.language) == (second.expected, second.family, second.language), name


def test_no_text_stands_there_twice(everyday: tuple[Item, ...]) -> None:
    states = Counter(folded(item.state) for item in everyday)
    assert [text for text, count in states.items() if count > 1] == []
    assert len({item.id for item in everyday}) == len(everyday)


def test_the_right_option_stands_at_every_place_equally_often(everyday: tuple[Item, ...]) -> None:
    places: dict[int, Counter[int]] = defaultdict(Counter)
    for item in everyday:
        if isinstance(item.question, Choice):
            places[len(item.option_ids)][item.option_ids.index(item.expected)] += 1
    assert {3, 4} <= set(places)
    for options, counted in places.items():
        often = [counted[place] for place in range(options)]
        assert max(often) - min(often) <= 1, (options, often)


def test_as_many_yes_as_no(everyday: tuple[Item, ...]) -> None:
    counted = Counter((item.family, item.expected) for item in everyday if isinstance(item.question, Noul))
    assert {family for family, _ in counted} == {"policy", "fact"}
    for family in ("policy", "fact"):
        assert counted[family, "yes"] == counted[family, "no"]


def test_no_level_of_a_scale_is_right_for_half_or_for_none(everyday: tuple[Item, ...]) -> None:
    levels: dict[int, Counter[str]] = defaultdict(Counter)
    for item in everyday:
        if isinstance(item.question, Score):
            levels[len(item.option_ids)][item.expected] += 1
    assert set(levels) == {3, 4, 5}
    for count, counted in levels.items():
        often = [counted[str(level)] for level in range(count)]
        assert min(often) >= 2, (count, often)
        assert max(often) < sum(often) / 2, (count, often)


def test_the_longest_or_shortest_option_is_no_hint(everyday: tuple[Item, ...]) -> None:
    choices = [item for item in one_each(everyday) if isinstance(item.question, Choice)]
    by_chance = sum(1 / len(item.option_ids) for item in choices)
    for habit in (max, min):
        right = 0
        for item in choices:
            assert isinstance(item.question, Choice)
            texts = {name: len(str(text)) for name, text in item.question.options.items()}
            right += habit(texts, key=lambda name: texts[name]) == item.expected
        assert right <= by_chance * 1.5, (habit.__name__, right, by_chance)


def test_states_are_texts_objects_and_lists(everyday: tuple[Item, ...]) -> None:
    assert {type(item.state) for item in everyday} == {str, dict, list}


def test_the_kept_results_are_of_this_set_and_the_readme_shows_their_table() -> None:
    results = json.loads((RESULTS / f"{KEPT}.json").read_text(encoding="utf-8"))
    assert results["data_sha256"] == hashlib.sha256(SET.read_bytes()).hexdigest()
    assert results["decisions"] == results["rows"][0]["whole"]["validity"]["count"]
    readme = (SET.parents[1] / "README.md").read_text(encoding="utf-8")
    assert (RESULTS / f"{KEPT}.md").read_text(encoding="utf-8") in readme
    assert f"evaluation_sets/results/{KEPT}.svg" in readme
    assert (RESULTS / f"{KEPT}.svg").is_file()
