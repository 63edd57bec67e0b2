"""A topic that stops in the middle of an episode is told; one that is slow is not."""

from __future__ import annotations

from rffpsr_ros.nodes.learner.quiet_topics import QuietTopics

S = 1_000_000_000


def heard(*seconds: float, least: float = 0.5) -> QuietTopics:
    """Return the topics of an episode of which one has sent at these times."""
    topics = QuietTopics(["/seen", "/told"], least)
    for each in seconds:
        topics.take("/seen", round(each * S))
    return topics


def test_a_topic_that_stops_is_told_once_and_again_at_the_end() -> None:
    topics = heard(1.0, 1.1, 1.2)
    assert topics.news(3 * S) == []
    assert topics.news(4 * S) == ["no message on /seen for 2.8 s"]
    assert topics.news(5 * S) == []
    assert topics.all(9 * S) == ["no message on /seen for 7.8 s"]


def test_a_silence_that_is_over_is_remembered_the_longest_one() -> None:
    topics = heard(1.0, 1.1, 5.1, 5.2, 15.2, 15.3)
    assert topics.news(16 * S) == []
    assert topics.all(16 * S) == ["no message on /seen for 10.0 s"]


def test_what_is_slow_or_came_once_is_not_silent() -> None:
    assert heard(1.0).all(99 * S) == []
    assert heard().all(99 * S) == []
    slow = heard(1.0, 4.0)
    assert slow.news(30 * S) == []
    assert slow.news(40 * S) == ["no message on /seen for 36.0 s"]
    assert heard(1.0, 1.1, least=5.0).news(6 * S) == []


def test_time_that_goes_back_is_no_silence() -> None:
    assert heard(10.0, 10.1, 1.0, 1.1).all(2 * S) == []
