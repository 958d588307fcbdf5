"""The models accept and reject what the package ``atif`` does, and name what is wrong."""

import copy
import json
from contextlib import suppress
from functools import reduce
from operator import getitem

import atif
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError

from terminus_core import Trajectory

DOCUMENT = {
    "schema_version": "ATIF-v1.8",
    "session_id": "s",
    "trajectory_id": "s.1",
    "agent": {
        "name": "a",
        "version": "1",
        "model_name": "m",
        "tool_definitions": [{"type": "function"}],
        "extra": {"parser": "json"},
    },
    "steps": [
        {"step_id": 1, "timestamp": "2025-10-16T14:30:00Z", "source": "user", "message": "do it"},
        {
            "step_id": 2,
            "timestamp": "2025-10-16T14:30:01.123456+00:00",
            "source": "agent",
            "model_name": "m",
            "reasoning_effort": 0.5,
            "message": [
                {"type": "text", "text": "look"},
                {"type": "image", "source": {"media_type": "image/png", "path": "a.png"}},
                {"type": "audio", "source": {"media_type": "audio/wav", "path": "a.wav", "duration_sec": 1.5}},
            ],
            "reasoning_content": "because",
            "tool_calls": [
                {"tool_call_id": "c1", "function_name": "bash_command", "arguments": {"keystrokes": "ls\n"}},
            ],
            "observation": {
                "results": [
                    {"source_call_id": "c1", "content": "a b"},
                    {"content": [{"type": "text", "text": "x"}], "extra": {"k": 1}},
                    {"subagent_trajectory_ref": [{"trajectory_path": "t.json", "session_id": "s"}]},
                ]
            },
            "metrics": {
                "prompt_tokens": 10,
                "completion_tokens": 2,
                "cached_tokens": 1,
                "cost_usd": 0.5,
                "prompt_token_ids": [1, 2],
                "completion_token_ids": [3],
                "logprobs": [-0.5],
                "extra": {"k": None},
            },
            "llm_call_count": 1,
            "is_copied_context": False,
        },
        {"step_id": 3, "source": "system", "message": "", "extra": {"k": 1}},
    ],
    "final_metrics": {
        "total_prompt_tokens": 10,
        "total_completion_tokens": 2,
        "total_cached_tokens": 0,
        "total_cost_usd": 0.5,
        "total_steps": 3,
        "extra": {"status": "completed"},
    },
    "continued_trajectory_ref": "trajectory.cont-1.json",
    "extra": {"k": 1},
    "subagent_trajectories": [
        {
            "schema_version": "ATIF-v1.7",
            "trajectory_id": "s.2",
            "agent": {"name": "a", "version": "1"},
            "steps": [{"step_id": 1, "source": "agent", "message": "hi"}],
        }
    ],
}


def places(value, path=()):
    """The path of every value in nested data."""
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from places(item, (*path, key))


PLACES = [path for path in places(DOCUMENT) if path]


def changed(path, change):
    """A copy of DOCUMENT after ``change(container, key)`` at ``path``."""
    document = copy.deepcopy(DOCUMENT)
    change(reduce(getitem, path[:-1], document), path[-1])
    return document


def put(value):
    return lambda container, key: container.__setitem__(key, value)


def verdict(model: type[BaseModel], document):
    """The document as the model reads it, or None where it is refused."""
    try:
        return model.model_validate(document).model_dump()
    except ValidationError:
        return None


def test_accepts_a_document_with_everything_in_it():
    expected = atif.Trajectory.model_validate(DOCUMENT).model_dump()
    assert Trajectory.model_validate(DOCUMENT).model_dump() == expected


@pytest.mark.parametrize("path", PLACES, ids=lambda path: ".".join(map(str, path)))
def test_judges_like_atif_when_something_is_missing_or_unknown(path):
    documents = [changed(path, lambda container, key: container.pop(key))]
    documents += [changed(path, put(value)) for value in (None, "", "x", -1, 0, 2.5, True, [], {}, [None], {"odd": 1})]
    for document in documents:
        if "notes" not in document and path[:1] in [("steps",), ("final_metrics",)]:
            document["notes"] = "the number of steps may differ"
        assert verdict(Trajectory, document) == verdict(atif.Trajectory, document), document


@pytest.mark.parametrize(
    ("path", "value"),
    [
        *[
            (("steps", 0, "timestamp"), text)
            for text in ("2025-01-01", "20250101T000000", "2025-01-01Z00:00", "2025-01-01T00:00z", "today")
        ],
        *[
            (("steps", 1, "message", 2, "source", "media_type"), text)
            for text in ("audio/mp3", " AUDIO/Wave ", "audio/x-m4a", "audio/midi", "image/png")
        ],
    ],
)
def test_reads_texts_with_a_form_like_atif(path, value):
    document = changed(path, put(value))
    assert verdict(Trajectory, document) == verdict(atif.Trajectory, document)


scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 5),
    st.floats(allow_nan=False),
    st.text(max_size=5),
    st.sampled_from(["user", "agent", "system", "text", "image", "audio", "c1", "s.1", "s.2", "image/png"]),
)
values = st.recursive(scalars, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner))


@settings(derandomize=True, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(PLACES), values), min_size=1, max_size=2))
def test_judges_like_atif_whatever_the_values(changes):
    document = copy.deepcopy(DOCUMENT) | {"notes": "the number of steps may differ"}
    for path, value in changes:
        with suppress(LookupError, TypeError):  # the change before took this place away
            reduce(getitem, path[:-1], document)[path[-1]] = value
    assert verdict(Trajectory, document) == verdict(atif.Trajectory, document)


BROKEN = {
    "metrics no object": (("steps", 1, "metrics"), put([1, 2]), "metrics"),
    "step ids not sequential": (("steps", 2, "step_id"), put(4), "step_id"),
    "step count differs": (("final_metrics", "total_steps"), put(2), "total_steps"),
    "call of another step": (("steps", 1, "tool_calls", 0, "tool_call_id"), put("c9"), "source_call_id"),
    "token count no number": (("steps", 1, "metrics", "prompt_tokens"), put("many"), "prompt_tokens"),
    "metrics of a user": (("steps", 0, "metrics"), put({}), "metrics"),
    "unknown field": (("steps", 0, "mood"), put("good"), "mood"),
    "null among logprobs": (("steps", 1, "metrics", "logprobs"), put([None]), "logprobs"),
    "reference to nothing": (
        ("steps", 1, "observation", "results", 2, "subagent_trajectory_ref", 0, "trajectory_path"),
        put(None),
        "trajectory_path",
    ),
}


@pytest.mark.parametrize(("path", "change", "field"), BROKEN.values(), ids=[f"tr-05 {name}" for name in BROKEN])
def test_a_broken_document_is_refused_and_the_field_named(path, change, field):
    with pytest.raises(ValidationError, match=field):
        Trajectory.model_validate(changed(path, change))


def test_a_differing_step_count_may_be_explained_in_notes():
    Trajectory.model_validate(changed(("final_metrics", "total_steps"), put(9)) | {"notes": "six steps were cut"})


def test_a_saved_document_is_loaded(tmp_path):
    path = tmp_path / "trajectory.json"
    agent = {"name": "a", "version": "1"}
    document = {"schema_version": Trajectory.VERSION, "agent": agent, "steps": []}
    path.write_text(json.dumps(document | {"steps": [{"step_id": 1, "source": "user", "message": "hello"}]}))
    assert [step.message for step in Trajectory.load(path).steps] == ["hello"]
    path.write_text("{")
    with pytest.raises(ValueError, match="Invalid JSON"):
        Trajectory.load(path)
    with pytest.raises(FileNotFoundError):
        Trajectory.load(tmp_path / "nowhere.json")
