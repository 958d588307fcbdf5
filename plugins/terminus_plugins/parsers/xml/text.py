"""A ``<response>`` inside other text, read by a tokenizer of our own: keystrokes are raw text, which XML has not.

Beyond the exact form it overlooks what cannot touch a keystroke: stray closing tags, capitals, odd attributes, a
missing root. Nothing else is guessed.
"""

from __future__ import annotations

import json
import re

from terminus_core import ActionCall
from terminus_plugins.parsers.common.answer import BLANKS, MAX_DIGITS, MISSING, Answer, place, read_claim, shown
from terminus_plugins.parsers.common.reply import TORN_TAG, UNTHINK, Reading
from terminus_plugins.parsers.xml.tags import (
    CDATA,
    CDATA_END,
    CLOSING,
    PARTS,
    STRAY,
    TAG,
    attributes,
    looks_unclosed,
    other_tags,
    sections,
)

_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?", re.IGNORECASE)
_USE_CDATA = f"Put keystrokes that hold tags of this format into {CDATA}…{CDATA_END}, with nothing around it."


def read_response(text: str, start: int) -> Reading:
    """Read what begins at ``text[start]``, where ``ANSWER_START`` matched. Linear in time, never raises."""
    try:
        return _Reader(text, start).read()
    except _BrokenError as error:
        return Reading(error.position, error=str(error))


class _BrokenError(Exception):
    """What began as an answer is not one; reading may go on at ``position``."""

    def __init__(self, message: str, position: int) -> None:
        super().__init__(message)
        self.position = position


class _Reader:
    def __init__(self, text: str, start: int) -> None:
        self._text = text
        self._at = start  # behind the last tag that was read
        self._has_root = False
        self._parts: list[str] = []
        self._oddities: dict[str, None] = {}
        self._faults: list[str] = []
        self._answer = Answer(start, closed=False)

    def read(self) -> Reading:
        first = TAG.match(self._text, self._at)
        if first is None or first["comment"]:
            return Reading(self._comment_end(self._at))
        name = first["name"].lower()
        if name != "response" and not self._begins_line():
            return Reading(first.end())  # prose that mentions the tag
        if name == "response":
            self._has_root = True
            self._attributes(first)
            self._at = first.end()
        return self._read_parts()

    # -- the parts of the answer ---------------------------------------------------------------------------------------

    def _read_parts(self) -> Reading:
        while tag := TAG.search(self._text, self._at):
            gap = self._text[self._at : tag.start()]
            name = (tag["name"] or "").lower()
            is_other = name == "response" and not tag["slash"]
            if is_other or (not self._has_root and gap.strip(BLANKS)):
                return self._stop()
            if not name:
                if not self._skip_aside(tag):
                    return self._stop()
            elif tag["slash"]:
                if self._read_closing(tag, name, gap):
                    return self._finish()
            else:
                self._overlook_text(gap, tag)
                self._read_part(tag, name)
        if TORN_TAG.search(self._text, self._at):
            raise _BrokenError("The answer ends inside a tag.", len(self._text))
        is_begun = self._parts or not self._text[self._at :].strip(BLANKS)
        if self._has_root and is_begun and not self._is_answer():
            raise _BrokenError("<response> is never closed.", len(self._text))
        return self._stop()

    def _skip_aside(self, tag: re.Match[str]) -> bool:
        """Skip a comment or a block of reasoning; false if the block has no end."""
        if tag["unthink"]:
            raise _BrokenError(f"{shown(tag[0])} stands inside the answer.", tag.start())
        if tag["comment"]:
            self._oddities["A comment was ignored."] = None
            self._at = self._comment_end(tag.start())
            return True
        closing = UNTHINK.search(self._text, tag.end())
        self._at = closing.end() if closing else self._at
        return closing is not None

    def _read_closing(self, tag: re.Match[str], name: str, gap: str) -> bool:
        """Read a closing tag; true if it is the answer's own."""
        is_end = name == "response"
        if is_end:
            self._overlook_text(gap, tag)
            self._answer.closed = True
        elif gap.strip(BLANKS):
            raise _BrokenError(f"{shown(tag[0])} closes nothing.", tag.end())
        else:
            self._overlook_stray(tag[0])
        self._at = tag.end()
        return is_end

    def _read_part(self, tag: re.Match[str], name: str) -> None:
        if name == "keystrokes":
            raise _BrokenError("<keystrokes> stands outside <commands>.", len(self._text))
        if name == "action":
            self._read_action(tag)
            return
        is_repeated = name in self._parts
        if is_repeated and name in ("commands", "task_complete"):
            raise _BrokenError(f"<{name}> stands twice in one answer.", tag.end())
        self._parts.append(name)
        self._attributes(tag)
        if name == "commands":
            self._read_commands(tag)
            return
        raw = None if is_repeated or name == "task_complete" else self._raw_text(tag, name)
        content = self._content(tag, name) if raw is None else raw
        if name == "task_complete":
            self._read_claim(content.strip(BLANKS))
        elif is_repeated:
            self._oddities[f"<{name}> stands twice; the first one was used."] = None
        elif raw is None and "<commands" in content.lower() and "</commands" in content.lower():
            raise _BrokenError(f"<{name}> holds <commands>; is it closed?", self._at)
        else:
            self._answer.add_text(name, content.strip(BLANKS))

    def _read_action(self, tag: re.Match[str]) -> None:
        name = self._attributes(tag, "name").get("name", "")
        content = self._content(tag, "action").strip(BLANKS)
        try:
            arguments = json.loads(content or "{}")
        except (ValueError, RecursionError):
            self._answer.warnings.append(f"<action> {shown(name)}: expected a JSON object; it was not performed.")
            return
        self._answer.actions.append(ActionCall(name, arguments))

    def _raw_text(self, tag: re.Match[str], name: str) -> str | None:
        """What a text says that is CDATA and nothing else; ``None`` of any other."""
        start = self._skip_blanks(tag.end())
        if not self._text.startswith(CDATA, start):
            return None
        try:
            raw, end = sections(self._text, start)
        except ValueError:
            return None
        closing = CLOSING[name].match(self._text, self._skip_blanks(end))
        self._at = closing.end() if closing else self._at
        return raw if closing else None

    def _read_claim(self, word: str) -> None:
        if "<" in word:
            raise _BrokenError("<task_complete> must hold true or false.", self._at)
        self._answer.claim, warning = read_claim({"true": True, "false": False}.get(word, word))
        self._answer.warnings += [warning] if warning else []

    def _is_answer(self) -> bool:
        return "commands" in self._parts or self._answer.claim

    def _stop(self) -> Reading:
        """The answer has no end of its own: something else follows, or nothing."""
        if not self._is_answer():
            return Reading(self._at, hint="The answer lacks <commands>." if self._parts else "")
        if self._has_root:
            self._oddities["</response> is missing."] = None
        return self._finish()

    def _finish(self) -> Reading:
        while stray := STRAY.match(self._text, self._at):
            self._overlook_stray(stray["tag"])
            self._at = stray.end()
        if not self._is_answer():
            return Reading(self._at, hint="The answer lacks <commands>.")
        answer = self._answer
        answer.end = self._at
        warnings = list(self._oddities)
        if not self._has_root:
            warnings.append("<response> is missing.")
        warnings += [f"<{part}> is missing." for part in ("analysis", "plan") if part not in self._parts]
        order = [PARTS.index(part) for part in self._parts]
        if order != sorted(order):
            warnings.append(f"Parts are out of order; expected: {', '.join(PARTS)}.")
        answer.warnings[:0] = warnings
        if self._faults:
            answer.drop_commands(self._faults)
        return Reading(answer.end, answer)

    # -- commands ------------------------------------------------------------------------------------------------------

    def _read_commands(self, tag: re.Match[str]) -> None:
        self._at = tag.end()
        if tag["rest"].endswith("/>"):
            return
        number = 0
        while inner := TAG.search(self._text, self._at):
            name = (inner["name"] or "").lower()
            is_end = name == "commands" and inner["slash"] == "/"
            gap = self._text[self._at : inner.start()].strip(BLANKS)
            # Behind a command the text may be what the command was to write: nothing in it is to be trusted.
            resume = len(self._text) if number else inner.start()
            if gap and not (is_end and number == 0):
                where = f"behind command {number}" if number else "in <commands>"
                raise _BrokenError(f"Text {where}, outside <keystrokes>: {shown(gap)}. {_USE_CDATA}", resume)
            if is_end:
                self._at = inner.end()
                self._faults += ["<commands> must hold <keystrokes> elements."] if gap else []
                return
            if name == "keystrokes" and not inner["slash"]:
                number += 1
                self._read_command(inner, number)
            elif inner["slash"] and name != "response" and not self._text.endswith("/>", 0, self._at):
                self._overlook_stray(inner[0])
                self._at = inner.end()
            else:
                raise _BrokenError(f"{shown(inner[0])} cannot stand in <commands>.", resume)
        raise _BrokenError("<commands> is never closed.", len(self._text))

    def _read_command(self, tag: re.Match[str], number: int) -> None:
        duration: object = self._attributes(tag, "duration").get("duration", MISSING)
        if isinstance(duration, str) and _NUMBER.fullmatch(duration.strip()):
            if sum(map(str.isdigit, duration)) > MAX_DIGITS:
                self._answer.errors.append(f"Command {number}: duration has more than {MAX_DIGITS} digits.")
            duration = float(duration)
        if self._text.startswith(CDATA, tag.end()):
            keystrokes = self._cdata(tag.end(), number)
        else:
            keystrokes = self._content(tag, "keystrokes")
            if looks_unclosed(keystrokes) or CDATA in keystrokes:
                raise _BrokenError(f"Command {number}: where does it end? {_USE_CDATA}", len(self._text))
        self._answer.add_command(number, keystrokes, duration)

    def _cdata(self, start: int, number: int) -> str:
        try:
            keystrokes, end = sections(self._text, start)
        except ValueError:
            raise _BrokenError(f"Command {number}: {CDATA} is never closed.", len(self._text)) from None
        closing = CLOSING["keystrokes"].match(self._text, end)
        if closing is None:
            raise _BrokenError(
                f"Command {number}: </keystrokes> must follow {CDATA_END}; keystrokes that hold {CDATA_END} need two "
                "CDATA sections.",
                len(self._text),
            )
        self._at = closing.end()
        return keystrokes

    # -- what all tags have --------------------------------------------------------------------------------------------

    def _content(self, tag: re.Match[str], name: str) -> str:
        if tag["rest"].endswith("/>"):
            self._at = tag.end()
            return ""
        closing = CLOSING[name].search(self._text, tag.end())
        if closing is None:
            raise _BrokenError(f"<{name}> at {place(self._text, tag.start())} is never closed.", len(self._text))
        if closing[0] != closing[0].lower():
            self._overlook_capitals()
        self._at = closing.end()
        return self._text[tag.end() : closing.start()]

    def _attributes(self, tag: re.Match[str], known: str = "") -> dict[str, str]:
        try:
            found, is_odd = attributes(tag["rest"])
        except ValueError:
            raise _BrokenError(f"The tag {shown(tag[0])} cannot be read.", len(self._text)) from None
        if tag["name"] != tag["name"].lower():
            self._overlook_capitals()
        if is_odd:
            self._oddities['Attributes should be written as duration="0.5".'] = None
        for name in found:
            if name != known:
                self._oddities[f"Unknown attributes were ignored: {shown(name)}"] = None
        return found

    def _overlook_capitals(self) -> None:
        self._oddities["Tag names should be in small letters."] = None

    def _overlook_stray(self, tag: str) -> None:
        self._oddities[f"A closing tag too many was ignored: {shown(tag)}"] = None

    def _overlook_text(self, gap: str, tag: re.Match[str]) -> None:
        names, still_open = other_tags(gap)
        if still_open:
            raise _BrokenError(f"{shown(tag[0])} stands inside <{shown(still_open[-1])}>.", tag.start())
        if names:
            self._oddities[f"Unknown parts were ignored: {', '.join(map(shown, names[:10]))}"] = None
        elif gap.strip(BLANKS):
            self._oddities[f"Text outside the parts was ignored: {shown(gap)}"] = None

    def _comment_end(self, start: int) -> int:
        end = self._text.find("-->", start)
        if end < 0:
            raise _BrokenError("A comment is never closed.", len(self._text))
        return end + len("-->")

    def _skip_blanks(self, position: int) -> int:
        while self._text[position : position + 1] in BLANKS and position < len(self._text):
            position += 1
        return position

    def _begins_line(self) -> bool:
        before = self._at - 1
        while before >= 0 and self._text[before] in BLANKS and self._text[before] not in "\r\n":
            before -= 1
        return before < 0 or self._text[before] in "\r\n>"
