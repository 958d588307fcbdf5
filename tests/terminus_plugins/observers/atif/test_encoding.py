"""Whatever the values hold, what is written is strict JSON in UTF-8, and readable."""

import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from terminus_core import Step
from terminus_plugins.observers.atif.encoding import encode, encode_step, repair

# Texts that look like what is laid out anew: they have to stay as they are.
texts = st.text(max_size=8) | st.sampled_from(
    ["[\n  1,\n  2\n]", "[1, 2]", "null", "x: null,\nnull", "NaN", "\u2028", "\x00"]
)
data = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
)


@settings(derandomize=True, deadline=None)
@given(data, st.sampled_from([2, None]))
def test_data_comes_back_as_it_was(value, indent):
    assert json.loads(encode(value, indent=indent)) == value


def test_is_readable_with_numbers_on_one_line():
    value = {"a": [1, -2.5, 0.001], "b": [], "c": {}, "d": [[1], [2, 3]], "e": [1, "x"], "f": [True]}
    assert encode(value).decode() == (
        '{\n  "a": [1, -2.5, 0.001],\n  "b": [],\n  "c": {},\n  "d": [\n    [1],\n    [2, 3]\n  ],\n'
        '  "e": [\n    1,\n    "x"\n  ],\n  "f": [\n    true\n  ]\n}'
    )


def test_one_line_is_one_line():
    assert encode({"a": [1, {"b": "x\ny"}]}, indent=None) == rb'{"a":[1,{"b":"x\ny"}]}'


def test_other_objects_become_text():
    assert json.loads(encode({"error": ValueError("bad")})) == {"error": "bad"}


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        pytest.param("\ud83d", "\ufffd", id="tr-03 first half"),
        pytest.param("\ude00\ude00", "\ufffd\ufffd", id="tr-03 second halves"),
        pytest.param("a\ud83d\ude00b", "a\U0001f600b", id="both halves are one character"),
        pytest.param("\ud83d\ud83d\ude00\ude00", "\ufffd\U0001f600\ufffd", id="a pair between halves"),
        pytest.param("\udcff", "\ufffd", id="a byte that was no UTF-8"),
    ],
)
def test_halves_of_surrogate_pairs(text, whole):
    notes = set()
    assert repair({text: [text]}, notes) == {whole: [whole]}
    assert notes == {"halves of surrogate pairs replaced"}
    assert json.loads(encode({text: text}).decode("utf-8")) == {whole: whole}


@pytest.mark.parametrize("odd", [math.nan, math.inf, -math.inf], ids=str)
def test_numbers_that_json_does_not_know(odd):
    notes = set()
    value = {"cost": odd, "list": [1.0, odd], "logprobs": [-0.5, odd], "deep": {"logprobs": [-0.5], "n": None}}
    assert repair(value, notes) == {"list": [1.0, None], "deep": {"logprobs": [-0.5], "n": None}}
    assert notes == {"NaN or Infinity left out"}
    assert json.loads(encode(value)) == repair(value, set())


def step(**fields):
    return Step.model_construct(**({"step_id": 1, "source": "agent", "message": "m"} | fields))


def test_an_ordinary_step_is_not_repaired():
    text, read, repaired = encode_step(step(message="is null,\nnull", extra={"n": None}, metrics={"logprobs": [-0.5]}))
    assert json.loads(text)["extra"] == {"n": None}
    assert read.message == "is null,\nnull"
    assert repaired == set()


@pytest.mark.parametrize(
    "fields",
    [
        {"message": 5},
        {"message": object()},
        {"source": "nobody"},
        {"metrics": [1]},
        {"observation": {"results": [{"source_call_id": "x"}]}, "tool_calls": []},
        {"tool_calls": [{"tool_call_id": "c", "function_name": "f", "arguments": {"x": object()}}]},
        {"step_id": 0, "message": "\ud83d"},
    ],
)
def test_an_invalid_step_is_refused(fields):
    with pytest.raises(ValueError, match=r"."):
        encode_step(step(**fields))
