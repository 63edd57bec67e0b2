"""Services of type std_srvs/srv/Trigger, which answer at once with a sentence."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from std_srvs.srv import Trigger

from rffpsr_ros.errors import InputError

Act = Callable[[], str]
"""Does what is asked and says so; raises an `InputError` that says why not."""


def offer(node: Any, acts: Mapping[str, Act]) -> None:
    """Create a private service for each act, by name."""
    for name, act in acts.items():
        node.create_service(Trigger, f"~/{name}", _answering(act))


def _answering(act: Act) -> Callable[[Any, Any], Any]:
    def answer(request: Any, response: Any) -> Any:
        try:
            response.message = act()
            response.success = True
        except InputError as problem:
            response.message = str(problem)
            response.success = False
        return response

    return answer
