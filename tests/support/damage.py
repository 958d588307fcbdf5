"""Ways to damage the folder of a run while the run goes on: shell commands that the run itself types in it."""

from pathlib import Path

from tests.support.scripted_run import DONE, Done, Program, typing

MENDED = {
    "the trajectory is removed": "rm trajectory.json",
    "the trajectory is emptied": ": > trajectory.json",
    "the trajectory is emptied twice": ": > trajectory.json; sleep 0.2; : > trajectory.json",
    "the hidden files are removed": "rm -f .trajectory.json.*",
    "the trajectory is replaced": "echo nonsense > other; mv other trajectory.json",
    "the trajectory is a link": "ln -sf /etc/hostname trajectory.json",
    "a stranger's file appears": "touch stranger",
}
SAID = {
    "the hidden files are emptied": "for f in .trajectory.json.*; do : > $f; done",
    "the folder is removed": "cd ..; rm -rf logs",
    "the folder is removed and made anew": "cd ..; rm -rf logs; mkdir logs",
    "the folder is a file": "cd ..; rm -rf logs; touch logs",
    "everything is emptied": "for f in * .t*; do : > $f; done",
    "the folder is moved away": "cd ..; mv logs elsewhere",
    "the answers are removed": "rm replies.jsonl",
    "the answers are emptied": ": > replies.jsonl",
    "the answers are a folder": "rm replies.jsonl; mkdir replies.jsonl",
    "the trajectory is a folder": "rm trajectory.json; mkdir trajectory.json",
    "the journal is removed": "rm journal.jsonl",
}
N_STEPS = 7


def damaged_run(folder: Path, command: str) -> Done:
    """A run of five turns in a new folder; the second damages it."""
    folder.mkdir()
    program = Program(folder)
    replies = [typing("echo one\n"), typing(f"(cd logs; {command})\n"), typing("echo three\n"), typing("echo four\n")]
    return program(replies=[*replies, DONE, DONE])
