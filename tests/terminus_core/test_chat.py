"""The chat keeps whole turns, valid messages and exact counts."""

import math
from itertools import pairwise

import pytest

from terminus_core import Chat, LLMResponse, Usage


def answer(text="ok", usage=None, **fields):
    return LLMResponse(text, usage=Usage(*usage) if usage else None, **fields)


def call(number):
    return {"id": f"id-{number}", "type": "function", "function": {"name": "type", "arguments": "{}"}}


def turn(chat, prompt, *args, images=None, **fields):
    chat.add_turn(chat.prompt_messages(prompt, images), answer(*args, **fields))


def roles(chat):
    return [message["role"] for message in chat.messages]


def test_turns_are_kept_in_order():
    chat = Chat()
    turn(chat, "one", "1")
    turn(chat, "two", "2")
    assert [message["content"] for message in chat.messages] == ["one", "1", "two", "2"]
    assert (chat.n_turns, chat.n_answers) == (2, 2)


def test_native_tool_calls_are_answered_one_by_one():
    chat = Chat()
    turn(chat, "go", "", tool_calls=[call(1), call(2)])
    asked = chat.prompt_messages("seen")
    assert asked == [
        {"role": "tool", "tool_call_id": "id-1", "content": "seen"},
        {"role": "tool", "tool_call_id": "id-2", "content": ""},
    ]


def test_images_follow_native_tool_calls_in_a_message_of_the_users():
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}
    chat = Chat()
    assert chat.prompt_messages("look", [image])[0]["content"] == [{"type": "text", "text": "look"}, image]
    turn(chat, "go", "", tool_calls=[call(1)])
    assert [message["role"] for message in chat.prompt_messages("seen", [image])] == ["tool", "user"]


@pytest.mark.parametrize("keep", [True, False])
def test_reasoning_goes_back_only_where_it_is_wanted(keep):
    chat = Chat(keep_reasoning=keep)
    turn(chat, "go", reasoning_content="hm")
    assert chat.messages[-1].get("reasoning_content") == ("hm" if keep else None)


# -- sizes -------------------------------------------------------------------------------------------------------------


def test_the_newest_usage_is_the_size_of_the_chat():
    chat = Chat()
    turn(chat, "one", usage=(10, 2))
    turn(chat, "two", usage=(15, 3))
    assert chat.context_tokens == 18
    assert chat.uncounted == []
    assert (chat.usage.prompt_tokens, chat.usage.completion_tokens) == (25, 5)


def test_without_usage_only_what_is_new_is_counted():
    chat = Chat()
    counted = []
    for i in range(50):
        turn(chat, f"prompt {i}", f"answer {i}")
        assert chat.context_tokens is None
        counted += chat.uncounted
        chat.add_count(len(chat.uncounted))
        assert chat.context_tokens == 2 * (i + 1)
    assert counted == chat.messages


def test_usage_sets_right_what_was_counted():
    chat = Chat()
    turn(chat, "one")
    chat.add_count(1000)
    turn(chat, "two", usage=(20, 1))
    assert chat.context_tokens == 21


@pytest.mark.parametrize(
    ("fields", "known"),
    [
        ({"usage": (20, None)}, 20),
        ({"usage": (20, 900), "reasoning_content": "a long thought"}, 20),
    ],
    ids=["no completion tokens", "reasoning that is not sent back"],
)
def test_an_answer_whose_size_is_not_known_is_counted(fields, known):
    chat = Chat()
    turn(chat, "one", **fields)
    assert [message["role"] for message in chat.uncounted] == ["assistant"]
    chat.add_count(3)
    assert chat.context_tokens == known + 3


def test_reasoning_that_is_sent_back_takes_room():
    chat = Chat(keep_reasoning=True)
    turn(chat, "one", usage=(20, 900), reasoning_content="a long thought")
    assert chat.context_tokens == 920


def test_odd_usage_changes_nothing():
    chat = Chat()
    turn(chat, "one", usage=(10, 1, None, math.nan))
    turn(chat, "two", usage=(10, 1, 5, 0.5))
    assert (chat.usage.cost_usd, chat.usage.cache_tokens) == (0.5, 5)


# -- unwinding and replacing -------------------------------------------------------------------------------------------


def test_unwinding_takes_whole_turns_and_knows_the_size_before():
    chat = Chat()
    turn(chat, "one", usage=(10, 2))
    turn(chat, "two", "", usage=(15, 3), tool_calls=[call(1), call(2)])
    turn(chat, "three", usage=(30, 1))
    taken = chat.unwind()
    assert [message["role"] for message in taken] == ["tool", "tool", "assistant"]
    assert chat.context_tokens == 18
    assert [message["role"] for message in chat.prompt_messages("again")] == ["tool", "tool"]
    chat.unwind()
    assert chat.context_tokens == 12
    assert [message["role"] for message in chat.prompt_messages("again")] == ["user"]


@pytest.mark.parametrize("turns", [1, 3, 99])
def test_the_first_turn_stays(turns):
    chat = Chat()
    for i in range(4):
        turn(chat, f"prompt {i}")
    taken = chat.unwind(turns)
    assert len(taken) == 2 * min(turns, 3)
    assert chat.messages[0]["content"] == "prompt 0"
    assert roles(chat)[-1] == "assistant"
    chat.unwind(99)
    assert chat.unwind() == []
    assert roles(chat) == ["user", "assistant"]


def test_what_was_unwound_stays_counted_in_the_totals():
    chat = Chat()
    turn(chat, "one", usage=(10, 2))
    turn(chat, "two", usage=(15, 3))
    chat.unwind()
    assert (chat.usage.prompt_tokens, chat.n_answers) == (25, 2)


def test_a_replaced_history_is_made_of_turns():
    chat = Chat()
    turn(chat, "one", usage=(10, 2))
    history = [
        {"role": "user", "content": "first"},
        {"role": "assistant", "content": "", "tool_calls": [call(1)]},
        {"role": "tool", "tool_call_id": "id-1", "content": "seen"},
        {"role": "assistant", "content": "well"},
    ]
    chat.replace(history)
    assert chat.n_turns == 2
    assert chat.uncounted == history
    chat.add_count(7)
    turn(chat, "next", usage=(20, 1))
    chat.unwind()
    assert chat.context_tokens == 7
    assert chat.messages == history
    chat.unwind()
    assert roles(chat) == ["user", "assistant"]


def test_a_history_can_be_replaced_by_nothing():
    chat = Chat()
    turn(chat, "one", usage=(10, 2))
    chat.replace([])
    assert (chat.n_turns, chat.messages, chat.context_tokens) == (0, [], 0)
    turn(chat, "again", usage=(5, 1))
    assert chat.context_tokens == 6


def test_roles_alternate_whatever_is_done():
    chat = Chat()
    for i in range(6):
        turn(chat, f"prompt {i}", f"answer {i}")
        if i % 2:
            chat.unwind()
    chat.replace([{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}])
    turn(chat, "c", "d")
    assert all(before != after for before, after in pairwise(roles(chat)))
