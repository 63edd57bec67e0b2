"""Topics that stop sending in the middle of an episode; without ROS."""

from __future__ import annotations

from collections.abc import Iterable

LEAST_SECONDS = 2.0
"""No shorter silence counts."""
INTERVALS = 10
"""So many of a topic's usual intervals count as silence. What came once has none: it may be told
when it changes only."""


class _Heard:
    """When a topic sent, and how long it did not, in ns."""

    def __init__(self, least_ns: int) -> None:
        self.longest = 0
        self.is_said = False
        self._least = least_ns
        self._last: int | None = None
        self._intervals = self._spent = 0

    def take(self, now_ns: int) -> None:
        """Take note of a message."""
        silence = self.silence(now_ns)
        if silence:
            self.longest = max(self.longest, silence)
        elif self._last is not None:
            self._intervals += 1
            self._spent += max(now_ns - self._last, 0)
        self._last = now_ns

    def silence(self, now_ns: int) -> int:
        """Return how long it has been silent, 0 if that is no longer than it was to be expected."""
        if self._last is None or not self._intervals:
            return 0
        since = now_ns - self._last
        usual = self._spent // self._intervals
        return since if since > max(self._least, INTERVALS * usual) else 0


class QuietTopics:
    """Follows the topics of one episode.

    Parameters
    ----------
    topics
        Which.
    least
        Seconds; no shorter silence counts.
    """

    def __init__(self, topics: Iterable[str], least: float) -> None:
        least_ns = int(max(least, LEAST_SECONDS) * 1e9)
        self._heard = {topic: _Heard(least_ns) for topic in topics}

    def take(self, topic: str, receive_ns: int) -> None:
        """Take note of a message."""
        self._heard[topic].take(receive_ns)

    def news(self, now_ns: int) -> list[str]:
        """Return a sentence for each topic that has stopped, the first time that it has."""
        said = []
        for topic, heard in self._heard.items():
            if not heard.is_said and (silence := heard.silence(now_ns)):
                heard.is_said = True
                said.append(_sentence(topic, silence))
        return said

    def all(self, now_ns: int) -> list[str]:
        """Return a sentence for each topic that was silent, with the longest time that it was."""
        longest = {
            topic: max(heard.longest, heard.silence(now_ns)) for topic, heard in self._heard.items()
        }
        return [_sentence(topic, silence) for topic, silence in longest.items() if silence]


def _sentence(topic: str, silence_ns: int) -> str:
    return f"no message on {topic} for {silence_ns / 1e9:.1f} s"
