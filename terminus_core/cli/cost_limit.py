"""The limit of costs that a run on the command line has if nobody set one."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, ClassVar

from terminus_core.hookspecs import hookimpl

if TYPE_CHECKING:
    from terminus_core.result import RunResult
    from terminus_core.run import Run

logger = logging.getLogger(__name__)

DEFAULT_USD = 10.0
REASON = "max_cost_usd"
HINT = f"the default limit of {DEFAULT_USD:g} dollars is agent.max_cost_usd (--max-cost USD; none lifts it)"


class DefaultCostLimit:
    """An observer that stops a run at :data:`DEFAULT_USD` dollars; an unknown price lifts the limit, with a line."""

    name: ClassVar[str] = "default_cost_limit"

    def __init__(self) -> None:
        self.was_reached = False

    @hookimpl
    def terminus_run_started(self, run: Run) -> None:
        """Say if costs cannot be known."""
        if run.llm.knows_price is False:
            logger.warning("the price of %s is not known: this run has no limit of costs", run.llm.model_name)

    @hookimpl
    def terminus_step_recorded(self, run: Run) -> None:
        """Stop after the step that reached it."""
        if (run.totals.cost_usd or 0.0) >= DEFAULT_USD:
            self.was_reached = True
            run.stop("limit_reached", REASON)

    @hookimpl
    def terminus_run_finished(self, result: RunResult) -> None:
        """Another end in the same step wins."""
        self.was_reached = self.was_reached and result.reason == REASON
