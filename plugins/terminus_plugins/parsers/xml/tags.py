"""The tags of the XML format: patterns that find them, and what they carry."""

from __future__ import annotations

import re

from terminus_plugins.parsers.common.answer import BLANKS
from terminus_plugins.parsers.common.reply import REASONING

PARTS = ("analysis", "plan", "commands", "task_complete")

_NAMES = "response|keystrokes|action|" + "|".join(PARTS)
_BODY = r"(?=[\s/>])[^<>]*>"
_CLOSING = rf"</(?:{_NAMES})\s*>"

ANSWER_START = rf"(?P<start><(?:{_NAMES}){_BODY}|<!--)"
"""What may begin an answer, for a pattern with ``re.IGNORECASE``."""
TAG = re.compile(rf"{REASONING}|(?P<comment><!--)|<(?P<slash>/?)(?P<name>{_NAMES})(?P<rest>{_BODY})", re.IGNORECASE)
"""A tag of the format, of reasoning, or a comment; ``rest`` is all that follows the name."""
CLOSING_TAG = re.compile(_CLOSING, re.IGNORECASE)
CLOSING = {name: re.compile(rf"</{name}\s*>", re.IGNORECASE) for name in ("keystrokes", "action", *PARTS)}
STRAY = re.compile(rf"[{BLANKS}]*(?P<tag>{_CLOSING})", re.IGNORECASE)
"""A closing tag with only blanks in front."""
CDATA, CDATA_END = "<![CDATA[", "]]>"

_COMMAND = re.compile(rf"<keystrokes{_BODY}", re.IGNORECASE)
_LAST_TAG = re.compile(rf"{_CLOSING}\Z", re.IGNORECASE)
_OTHER_TAG = re.compile(r"<(/?)([a-z][\w.:-]*)([^<>]*)>", re.IGNORECASE)
_ATTRIBUTE = re.compile(r"""\s*([a-z_][\w.-]*)(\s*=\s*)(?:"([^"]*)"|'([^']*)'|([^\s"'=/]+))""", re.IGNORECASE)


def attributes(rest: str) -> tuple[dict[str, str], bool]:
    """The attributes of a tag, and whether they are written in XML's way.

    Args:
        rest: what follows the tag's name, up to ``>``.

    Raises:
        ValueError: they cannot be read, or one stands twice.
    """
    found: dict[str, str] = {}
    is_odd = False
    rest = rest.removesuffix(">").removesuffix("/")
    position = 0
    while attribute := _ATTRIBUTE.match(rest, position):
        name, equals, double, single, bare = attribute.groups()
        if name.lower() in found:
            raise ValueError
        is_odd |= name != name.lower() or equals != "=" or double is None
        found[name.lower()] = double if double is not None else single if single is not None else bare
        position = attribute.end()
    if rest[position:].strip():
        raise ValueError
    return found, is_odd


def sections(text: str, start: int) -> tuple[str, int]:
    """What the CDATA sections that begin at ``text[start]`` hold, and where the last one ends.

    Raises:
        ValueError: one is never closed.
    """
    pieces = []
    while text.startswith(CDATA, start):
        end = text.index(CDATA_END, start)
        pieces.append(text[start + len(CDATA) : end])
        start = end + len(CDATA_END)
    return "".join(pieces), start


def looks_unclosed(keystrokes: str) -> bool:
    """Whether raw keystrokes reach over the end that was meant: they hold another command, or end in a tag."""
    return bool(_COMMAND.search(keystrokes) or _LAST_TAG.search(keystrokes.rstrip(BLANKS)))


def other_tags(text: str) -> tuple[list[str], list[str]]:
    """Names of the elements in text that holds none of the format's tags, and of those that it leaves open."""
    names: dict[str, None] = {}
    still_open: list[str] = []
    for slash, name, rest in _OTHER_TAG.findall(text):
        if not slash:
            names[name] = None
            still_open += [] if rest.endswith("/") else [name]
        elif name in still_open[-1:]:
            still_open.pop()
    return list(names), still_open
