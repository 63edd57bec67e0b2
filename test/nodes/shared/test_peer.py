"""The tests' own peer: what discovery missed once does not fail a test."""

from __future__ import annotations

import threading
from typing import Any

from benchmarks import live_nodes


class NeverReady:
    """A client whose service was missed."""

    def service_is_ready(self) -> bool:
        return False


def test_a_service_that_discovery_missed_is_called_by_a_newcomer(
    ros: Any, monkeypatch: Any
) -> None:
    from std_srvs.srv import Trigger

    monkeypatch.setattr(live_nodes, "PATIENCE", 3.0)
    other = ros.another_peer()
    asked = []

    def answer(_: Any, response: Any) -> Any:
        asked.append(1)
        response.success = True
        return response

    other.node.create_service(Trigger, "/asked", answer)
    ended = threading.Event()

    def serve() -> None:
        while not ended.is_set():
            other.spin()

    server = threading.Thread(target=serve)
    server.start()
    try:
        ros.peer._clients["/asked"] = NeverReady()
        for times in (1, 2):
            assert ros.peer.call("/asked").success
            assert len(asked) == times
    finally:
        ended.set()
        server.join()
