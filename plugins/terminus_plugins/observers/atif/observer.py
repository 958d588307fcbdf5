"""What is written when: between a run's events and its files."""

from __future__ import annotations

import hashlib
import logging
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any, ClassVar, Self

from terminus_core import Observer, Trajectory, hookimpl
from terminus_plugins.observers.atif.document import Document, sums
from terminus_plugins.observers.atif.growing_file import sweep
from terminus_plugins.observers.atif.messages import steps_of
from terminus_plugins.observers.atif.replies import Replies

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from terminus_core import Handoff, LLMResponse, Run, RunResult, Step, Subagent, Usage

logger = logging.getLogger(__name__)

AGENT_NAME = "terminus-core"
DISTRIBUTION = "terminus-agent"


class AtifObserver(Observer):
    """Writes into a run's folder while the run goes on; each document on disk is whole at every instant.

    ``trajectory.json`` (ATIF 1.8) is saved at each step, ``replies.jsonl`` at each answer; a model call beside the
    chat gets a document of its own. With ``trajectory.linear_history`` each replaced history begins a new document,
    ``trajectory.cont-<n>.json``, and the one before points at it.

    A save that fails is logged and changes nothing for the run; the next one tries again.
    """

    name: ClassVar[str] = "atif"
    owns: ClassVar[frozenset[str]] = frozenset({"trajectory.json"})

    def __init__(self) -> None:
        self._index = 0  # of the segment that the next step belongs to
        self._current: Document | None = None
        self._ended: list[Document] = []  # get no more steps, and are not complete on disk yet
        self._replies: Replies | None = None
        self._listed: set[Path] = set()  # run.files grows with each summary: no search in it
        self._swept = False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        for document in self._documents():
            document.close()

    # -- events ----------------------------------------------------------------------------------------------

    @hookimpl
    def terminus_run_started(self, run: Run) -> None:
        """Remove what a killed run has left hidden in the folder."""
        self._sweep(run)

    @hookimpl
    def terminus_step_recorded(self, run: Run | None, step: Step) -> None:
        """Save the step."""
        if run is None:
            logger.warning("No context available, skipping trajectory dump")
            return
        self._sweep(run)
        self._document(run).add(step)
        self._save(run)

    @hookimpl
    def terminus_response_received(self, run: Run, response: LLMResponse) -> None:
        """Keep the answer as it came."""
        self._sweep(run)
        if self._replies is None:
            self._replies = Replies(run.logs_dir / "replies.jsonl")
        self._replies.add(response)
        self._save_replies(run, self._replies)

    @hookimpl
    def terminus_subagent_finished(self, run: Run, subagent: Subagent) -> None:
        """Keep the answer, and write the call as a document of its own."""
        self.terminus_response_received(run, subagent.response)
        _attempt("Failed to dump trajectory", partial(self._begin_aside, run, subagent))
        self._save_ended(run)

    @hookimpl
    def terminus_history_replaced(self, run: Run, handoff: Handoff) -> None:
        """With linear history, the next step begins a new document."""
        if run.settings.trajectory.linear_history:
            self._index = handoff.index

    @hookimpl
    def terminus_run_finished(self, run: Run, result: RunResult) -> None:
        """Say in the last document how the run ended, and in the log which file is not complete."""
        end: dict[str, Any] = {"status": result.status, "reason": result.reason}
        if run.settings.trajectory.linear_history:
            end["run"] = sums(run.totals)
        self._save(run, end)
        if self._replies is not None and not self._replies.complete:
            self._save_replies(run, self._replies)
        for file in (*self._documents(), self._replies):
            if file is not None and not file.complete:
                run.mark_incomplete(file.path, "it could not be written to its end")
                logger.error("File is not complete: %s", file.path)

    # -- files -----------------------------------------------------------------------------------------------

    def _sweep(self, run: Run) -> None:
        """Once, before the first file of our own: whoever is told of the start before us may record a step."""
        if not self._swept:
            self._swept = True
            _attempt("Failed to clean the logs folder", partial(sweep, run.logs_dir))

    def _documents(self) -> list[Document]:
        return [document for document in (self._current, *self._ended) if document is not None]

    def _document(self, run: Run) -> Document:
        """The document of the next step; it may have to be begun."""
        name = f"trajectory.cont-{self._index}.json" if self._index else "trajectory.json"
        if self._current is None or self._current.path.name != name:
            document = Document(run.logs_dir / name, partial(_head, run, name, self._index))
            if self._current is not None:
                self._current.successor = document
                self._ended.append(self._current)
            self._current = document
        return self._current

    def _begin_aside(self, run: Run, subagent: Subagent) -> None:
        name = subagent.trajectory_file
        document = Document(run.logs_dir / name, partial(_head, run, name))
        for step in steps_of(subagent, run.llm.model_name):
            document.add(step)
        self._ended.append(document)

    def _save(self, run: Run, end: dict[str, Any] | None = None) -> None:
        if self._current is not None:
            totals = None if run.settings.trajectory.linear_history else run.totals
            self._dump(run, self._current, totals, end)
        self._save_ended(run)  # after its successor: a segment points only at what is there

    def _save_ended(self, run: Run) -> None:
        for document in self._ended:
            self._dump(run, document)
            if document.complete:
                document.close()
        self._ended = [document for document in self._ended if not document.complete]

    def _dump(
        self, run: Run, document: Document, totals: Usage | None = None, end: dict[str, Any] | None = None
    ) -> None:
        if _attempt("Failed to dump trajectory", partial(document.save, totals, end, is_last=end is not None)):
            logger.debug("Trajectory dumped to %s", document.path)
            self._list(run, document.path)

    def _save_replies(self, run: Run, replies: Replies) -> None:
        if _attempt("Failed to write replies", replies.save):
            self._list(run, replies.path)

    def _list(self, run: Run, path: Path) -> None:
        if path not in self._listed:
            self._listed.add(path)
            run.files.append(path)


def _attempt(failure: str, act: Callable[[], object]) -> bool:
    """Do ``act``; whatever stands against it is logged, and the run goes on."""
    try:
        act()
    except Exception as error:  # noqa: BLE001 - a full disk, a third party's values, …
        logger.error("%s: %s", failure, error)  # noqa: TRY400 - one line; the run's own fault it is not
        return False
    return True


def _head(run: Run, name: str, index: int = 0) -> dict[str, Any]:
    """What stands before the steps: which run and document this is, and everything that shaped the run."""
    try:
        agent_version = version(DISTRIBUTION)
    except PackageNotFoundError:
        agent_version = "unknown"
    settings = run.redact(run.settings.masked())
    llm = settings.get("llm", {}).get(run.llm.name, {})
    extra: dict[str, Any] = {"parser": run.parser.name}
    if llm.get("temperature") is not None:
        extra["temperature"] = llm["temperature"]
    if llm.get("llm_kwargs"):
        extra["llm_kwargs"] = llm["llm_kwargs"]
    if index:
        extra["continuation_index"] = index
    prompt = run.parser.build_prompt("", "").encode("utf-8", "surrogatepass")
    extra["prompt_sha256"] = hashlib.sha256(prompt).hexdigest()
    extra["plugins"] = dict(run.plugins)
    extra["settings"] = settings
    agent = {"name": AGENT_NAME, "version": agent_version, "model_name": run.llm.model_name, "extra": extra}
    if tools := getattr(run.parser, "tools", None):
        agent["tool_definitions"] = tools
    return {
        "schema_version": Trajectory.VERSION,
        "session_id": run.session_id,
        "trajectory_id": run.session_id + name.removeprefix("trajectory").removesuffix(".json"),
        "agent": agent,
    }
