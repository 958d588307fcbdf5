"""Completion policy ``verify``: a command in the environment decides whether a claim of completion counts."""

from __future__ import annotations

import secrets
from contextlib import suppress
from pathlib import Path
from typing import ClassVar, Self

import anyio
from pydantic import BaseModel, ConfigDict, Field, model_validator

from terminus_core import Completion, CompletionPolicy, ConfigError, Run, TerminusError, Turn, hookimpl

CLEAN_UP_SEC = 10.0


class Verify(CompletionPolicy):
    """Runs the check at each claim; its output goes back to the model until it succeeds.

    Args:
        config: the settings; a file is read now, so that the model cannot change what is checked.

    Raises:
        ConfigError: the file cannot be read.
    """

    name: ClassVar[str] = "verify"

    class Config(BaseModel):
        """``[completion.verify]``: ``command`` or ``file``."""

        model_config = ConfigDict(extra="forbid")

        command: str | None = Field(
            None, min_length=1, description="shell command; status 0 means that the task is done"
        )
        file: Path | None = Field(
            None, description="script on this machine, brought into the environment for each check and taken away again"
        )
        timeout_sec: float = Field(60.0, gt=0, allow_inf_nan=False, description="seconds that a check may take")
        cwd: str | None = Field(None, description="folder of the check in the environment")
        output_chars: int = Field(
            4_000, ge=0, description="characters of the check's output that the model sees, its end"
        )

        @model_validator(mode="after")
        def _one_check(self) -> Self:
            if (self.command is None) == (self.file is None):
                raise ValueError("either command or file is needed, such as completion.verify.command='make test'")
            return self

    def __init__(self, config: Config) -> None:
        self._config = config
        self._script: bytes | None = None
        if config.file is not None:
            try:
                self._script = config.file.expanduser().read_bytes()
            except OSError as error:
                raise ConfigError(f"completion 'verify': cannot read {config.file}: {error.strerror}") from None

    async def decide(self, run: Run, turn: Turn) -> Completion:
        """Done when a claim passes the check."""
        if not turn.reply.is_task_complete:
            return Completion(turn.observation)
        if turn.reply.commands_unusable:
            return Completion(run.parser.completion_confirmation(turn.observation))
        verdict = await self._check(run)
        if not verdict:
            return Completion(turn.observation, done=True)
        return Completion(f"{turn.observation}\n\nYou say that the task is done. {verdict}\nThe task is not done yet.")

    async def _check(self, run: Run) -> str:
        """Why the check has failed; ``""`` if it has not."""
        limit = self._config.timeout_sec
        try:
            with anyio.fail_after(limit):
                passed, status, output = await self._run_check(run)
        except TimeoutError:
            return f"A check of the result did not end within {limit:g} seconds."
        except TerminusError as error:
            return f"A check of the result could not be made: {error}"
        if passed:
            return ""
        shown = output[-self._config.output_chars :] if self._config.output_chars else ""
        left_out = "[…]" if len(shown) < len(output) else ""
        return f"A check of the result has failed ({status}). Its output:\n{left_out}{shown}"

    async def _run_check(self, run: Run) -> tuple[bool, str, str]:
        environment, config = run.environment, self._config
        if self._script is None:
            assert config.command is not None  # noqa: S101 - one of both is there
            result = await environment.exec(config.command, cwd=config.cwd, timeout_sec=config.timeout_sec)
        else:
            target = f"/tmp/check-{secrets.token_hex(8)}"  # noqa: S108 - a name that nobody can guess
            async with anyio.TemporaryDirectory(prefix="terminus-check-") as folder:
                source = Path(folder) / "check"
                await anyio.Path(source).write_bytes(self._script)
                await anyio.Path(source).chmod(0o700)
                try:
                    await environment.upload_file(source, target)
                    # A copy of its own: a file that this process has open for writing cannot be run.
                    command = f"cp {target} {target}.run && chmod 700 {target}.run && {target}.run"
                    result = await environment.exec(command, cwd=config.cwd, timeout_sec=config.timeout_sec)
                finally:
                    with anyio.move_on_after(CLEAN_UP_SEC, shield=True), suppress(TerminusError):
                        await environment.exec(f"rm -f {target} {target}.run")
        status = "no status" if result.return_code is None else f"status {result.return_code}"
        return (
            result.return_code == 0,
            status,
            "\n".join(filter(None, [result.stdout.rstrip(), result.stderr.rstrip()])),
        )


@hookimpl
def terminus_register_completion_policies() -> list[type[CompletionPolicy]]:
    """Bring ``verify``."""
    return [Verify]
