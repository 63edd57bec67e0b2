"""Whatever happens to a running learner: it lives, records again, and nothing recorded is lost."""

from __future__ import annotations

import os
import resource
import shutil
import signal
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from benchmarks.audit.case import Case, lost_data, untrue_state
from benchmarks.audit.learner_stage import NODE, LearnerStage, count
from benchmarks.audit.live_stage import cases_on
from benchmarks.audit.runner import Group
from benchmarks.live_robot import PERIOD_NS, TOPICS

Act = Callable[[LearnerStage], object]

DISCARD = "discard_episode"
LATEST_NS = (2**31 - 1) * 10**9
FORGED = "x\n[ERROR] [1.0] [rffpsr_learner]: forged"


def _refused(stage: LearnerStage, service: str) -> None:
    if stage.call(service).success:
        raise untrue_state(f"{service} is said to have succeeded")


def _services(stage: LearnerStage) -> None:
    for service in ("end_episode", "discard_episode", "cancel_training"):
        _refused(stage, service)
    assert stage.call("start_episode").success
    _refused(stage, "start_episode")
    _refused(stage, "end_episode")  # as nothing arrived


def _nothing_to_train(stage: LearnerStage) -> None:
    stage.forget_episodes()
    _refused(stage, "train")
    stage.episodes.mkdir()
    _refused(stage, "train")


def _label(stage: LearnerStage, label: str) -> None:
    stage.set("episode.label", label)
    bag = stage.record()
    if bag.parent != stage.episodes:
        raise lost_data(f"it lies in {bag}")
    stage.set("episode.label", "")


def _recorded(stage: LearnerStage, topic: str = "/joint_states", **values: Any) -> None:
    """Record odd messages among good ones: all are in the bag."""
    before = set(stage.kept())
    assert stage.call("start_episode").success
    stage.play(5)
    for _ in range(5):
        stage.send(topic, stage.now_ns, **values)
        stage.now_ns += PERIOD_NS
    stage.play(5)
    stage.peer.settle()
    stage.peer.taken_by(NODE)
    if not stage.call("end_episode").success:
        raise lost_data("the episode is not kept")
    new = [bag for bag in stage.kept() if bag not in before]
    found = sum(map(count, new))
    if found != 25:
        raise lost_data(f"{found} of 25 messages are kept")
    stage.known |= {bag: count(bag) for bag in new}


def _at(stage: LearnerStage, *stamps_ns: int) -> None:
    assert stage.call("start_episode").success
    stage.play(3)
    for stamp_ns in stamps_ns:
        stage.send("/joint_states", stamp_ns, name=["o"], position=[0.1])
    stage.play(3)
    stage.peer.taken_by(NODE)
    stage.call("end_episode")
    stage.known |= {bag: count(bag) for bag in stage.kept()}


def _time_jumps(stage: LearnerStage, jumps: int = 200) -> None:
    before = len(stage.kept())
    assert stage.call("start_episode").success
    stage.play(3)
    for _ in range(jumps):
        for late in (10**12, 0):
            for step in range(4):
                stamp_ns = stage.now_ns - late + step * PERIOD_NS
                stage.send("/joint_states", stamp_ns, name=["o"], position=[0.1])
    stage.now_ns += 10**9
    stage.peer.taken_by(NODE)
    if (more := len(stage.kept()) - before) > 10:
        raise untrue_state(f"{more} bags of a moment each")
    stage.status("two publishers of one topic have different clocks")
    stage.known |= {bag: count(bag) for bag in stage.kept()}


def _damaged(stage: LearnerStage) -> None:
    draw = np.random.default_rng(0)
    assert stage.call("start_episode").success
    for topic in TOPICS:
        for length in (1, 4, 5, 60, 3000):  # DDS itself never delivers an empty one reliably
            stage.peer._publishers[topic].publish(draw.bytes(length))
            stage.peer.wait(0.002)
    stage.play(5)
    stage.call("end_episode")
    stage.known |= {bag: count(bag) for bag in stage.kept()}


def _another_type(stage: LearnerStage) -> None:
    from std_msgs.msg import String

    other = stage.ros.another_peer()
    other.publisher("/joint_states", String)
    stage.peer.wait(0.6)
    stage.play(5)
    other.forget("/joint_states")
    stage.peer.wait(0.6)


def _removed_while_recording(stage: LearnerStage, then: str) -> None:
    assert stage.call("start_episode").success
    stage.play(5)
    stage.forget_episodes()
    if then == "wait":
        stage.status("is lost")
    else:
        stage.play(5)
        stage.call(then)
    stage.peer.wait(0.5)


def _removed_while_training(stage: LearnerStage) -> None:
    stage.train()
    stage.forget_episodes()
    _training_ends(stage)


def _training_ends(stage: LearnerStage) -> None:
    stage.peer.until(lambda: not stage.children(), "the end of the training", 120)
    stage.peer.until(
        lambda: any(word in stage.statuses[-1].message for word in ("written", "failed")),
        "what came of the training",
    )


def _a_file_for_a_folder(stage: LearnerStage) -> None:
    stage.forget_episodes()
    stage.episodes.write_text("no folder", encoding="utf-8")
    for service in ("start_episode", "train"):
        _refused(stage, service)
    stage.peer.wait(0.5)
    stage.episodes.unlink()


def _full_disk(stage: LearnerStage) -> None:
    """A file may grow to a few kilobytes only; what was written until then is recovered later."""
    pid = stage.node.process.pid
    before = resource.prlimit(pid, resource.RLIMIT_FSIZE)
    assert stage.call("start_episode").success
    stage.play(20)
    stage.peer.wait(0.6)
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (24_000, before[1]))
    try:
        stage.play(300)
        stage.peer.wait(0.6)
        stage.call("end_episode")
    finally:
        resource.prlimit(pid, resource.RLIMIT_FSIZE, before)
    bags = len(stage.kept())
    stage.start_again()
    stage.peer.until(lambda: len(stage.kept()) > bags, "the recovered episode")
    if max(count(bag) for bag in stage.kept()) < 40:
        raise lost_data("what was flushed before the disk was full is gone")


def _no_room(stage: LearnerStage) -> None:
    stage.set("minimum_free_disk", 1e9)
    _refused(stage, "start_episode")
    stage.set("minimum_free_disk", 1.0)


def _killed_while_recording(stage: LearnerStage) -> None:
    assert stage.call("start_episode").success
    stage.play(40)
    stage.peer.wait(0.6)
    bags = len(stage.kept())
    stage.start_again()
    stage.peer.until(lambda: len(stage.kept()) > bags, "the recovered episode")
    if max(count(bag) for bag in stage.kept()) < 80:
        raise lost_data("what was recorded before the kill is gone")
    stage.known |= {bag: count(bag) for bag in stage.kept()}


def _strangers_among_recordings(stage: LearnerStage) -> None:
    """A file ``...json`` must not make the folder of the episodes the remains of an episode."""
    hidden = stage.episodes / ".recording"
    for name in ("...json", ".json", "..json", "x.json", "a\nb.json", f"{'y' * 200}.json"):
        (hidden / name).touch()
    (hidden / "x").mkdir()
    (hidden / "x" / "x_0.mcap").write_bytes(b"\x89MCAP0\r\n" + os.urandom(500))
    (hidden / "link.json").symlink_to("/etc/hostname")
    (hidden / "folder.json").mkdir()
    stage.start_again()
    stage.peer.wait(1.0)


def _model_path(stage: LearnerStage) -> None:
    thesis = stage.models / "thesis.txt"
    thesis.write_text("years of work", encoding="utf-8")
    if stage.set("model_path", "/etc/passwd") or stage.set("model_path", "x" * 5000):
        raise untrue_state("a path elsewhere is accepted")
    if not stage.set("model_path", str(thesis)):
        raise untrue_state("a path below the allowed folder is refused")
    _refused(stage, "train")
    if thesis.read_text(encoding="utf-8") != "years of work":
        raise lost_data("a file that is no model is replaced")
    stage.set("model_path", str(stage.models / "first.psr"))


def _cancelled_beside_others(stage: LearnerStage) -> None:
    secrets = [stage.models / name for name in (".env.production", ".x.y", "..z")]
    for one in secrets:
        one.write_text("secret", encoding="utf-8")
    stage.set("model_path", str(stage.models / "*"))
    stage.train()
    assert stage.call("cancel_training").success
    if not all(one.is_file() for one in secrets):
        raise lost_data("files of others are deleted")
    stage.set("model_path", str(stage.models / "first.psr"))


def _killed_training(stage: LearnerStage) -> None:
    stage.train()
    _refused(stage, "train")
    for child in stage.children():
        os.kill(child, signal.SIGKILL)
    stage.status("training failed: training was killed by signal 9")


def _damaged_episode(stage: LearnerStage) -> None:
    for name, content in (("torn", b"\x89MCAP0\r\n" + os.urandom(3000)), ("empty", b"")):
        (stage.episodes / name).mkdir()
        (stage.episodes / name / f"{name}_0.mcap").write_bytes(content)
    stage.train()
    _training_ends(stage)
    for name in ("torn", "empty"):
        shutil.rmtree(stage.episodes / name)


def _request_of_megabytes(stage: LearnerStage) -> None:
    names = [f"{number:04d}{'x' * 240}" for number in range(1500)]
    for name in names:
        (stage.episodes / name).mkdir()
    stage.train()
    _training_ends(stage)
    for name in names:
        (stage.episodes / name).rmdir()


def _parameters(stage: LearnerStage) -> None:
    taken = [
        (name, value)
        for name, value in (
            ("episode.max_duration", float("nan")),
            ("episode.max_duration", -1.0),
            ("minimum_free_disk", float("inf")),
            ("minimum_free_disk", "much"),
            ("dataset_directory", "/"),
            ("queue_depth", 0),
            ("executor", FORGED),
            ("model_path", FORGED),
            ("nothing", 1),
        )
        if stage.set(name, value)
    ]
    if taken:
        raise untrue_state(f"nonsense is accepted: {str(taken)[:200]}")


def _unknown_type_of_parameter(stage: LearnerStage) -> None:
    from rcl_interfaces.msg import Parameter, ParameterValue
    from rcl_interfaces.srv import SetParameters

    odd = [Parameter(name="episode.label", value=ParameterValue(type=99))]
    stage.peer.call(f"{NODE}/set_parameters", SetParameters, SetParameters.Request(parameters=odd))


def _life_cycles(stage: LearnerStage) -> None:
    from lifecycle_msgs.msg import Transition
    from lifecycle_msgs.srv import ChangeState

    stage.call("start_episode")
    for _ in range(3):
        for number in (1, 250, 4, 2, 3, 4, 2, 1, 3):
            request = ChangeState.Request(transition=Transition(id=number))
            stage.peer.call(f"{NODE}/change_state", ChangeState, request)
            stage.play(2)
    stage.peer.matched(*TOPICS)


def _publishers(stage: LearnerStage) -> None:
    stage.call("start_episode")
    for _ in range(5):
        for topic in TOPICS:
            stage.peer.forget(topic)
        stage.connect()
        stage.peer.matched(*TOPICS)
        stage.play(2)
    stage.call("end_episode")
    stage.known |= {bag: count(bag) for bag in stage.kept()}


def _many_episodes(stage: LearnerStage) -> None:
    for number in range(20):
        stage.call("start_episode")
        stage.play(3)
        stage.peer.taken_by(NODE)
        stage.call("discard_episode" if number % 2 else "end_episode")
    stage.known |= {bag: count(bag) for bag in stage.kept()}


def _by_itself(stage: LearnerStage) -> None:
    stage.set("episode.max_duration", 0.05)
    stage.set("episode.auto_start", True)
    stage.play(100)
    stage.set("episode.auto_start", False)
    stage.set("episode.max_duration", 0.0)
    stage.call("end_episode")
    stage.known |= {bag: count(bag) for bag in stage.kept()}


ACTS: list[tuple[str, Act]] = [
    ("services in every order", _services),
    ("a label of 300 characters", lambda s: _label(s, "x" * 300)),
    ("the folder removed while recording", lambda s: _removed_while_recording(s, "wait")),
    ("strangers among what was under way", _strangers_among_recordings),
    ("time goes back and forth 200 times", _time_jumps),
    (
        "the folder removed, then discarded",
        lambda s: _removed_while_recording(s, "discard_episode"),
    ),
    ("the folder removed, then ended", lambda s: _removed_while_recording(s, "end_episode")),
    ("nothing to train on", _nothing_to_train),
    ("a label of 300 umlauts", lambda s: _label(s, "ü" * 300)),
    ("a label that leads elsewhere", lambda s: _label(s, "../../elsewhere")),
    ("a label with a newline", lambda s: _label(s, FORGED)),
    ("not a number", partial(_recorded, name=["o"], position=[float("nan")])),
    ("the largest number", partial(_recorded, name=["o"], position=[1.797e308])),
    ("empty arrays", partial(_recorded, name=[], position=[])),
    ("a name of ten kilobytes", partial(_recorded, name=["o" * 10_240], position=[0.1])),
    ("newlines in names", partial(_recorded, name=[FORGED], position=[0.1])),
    ("commands of infinity", partial(_recorded, topic="/command", effort=[float("inf")])),
    ("a stamp at the end of time", lambda s: _at(s, LATEST_NS)),
    ("stamps before 1970", lambda s: _at(s, -(2**31) * 10**9, -1)),
    ("stamps of zero", lambda s: _at(s, 0, 0, 0)),
    ("a stamp that stands still", lambda s: _at(s, *[s.now_ns] * 50)),
    ("damaged bytes", _damaged),
    ("another type on a topic", _another_type),
    ("a file where the folder was", _a_file_for_a_folder),
    ("no room on the disk", _no_room),
    ("a full disk", _full_disk),
    ("killed while recording", _killed_while_recording),
    ("the folder removed while training", _removed_while_training),
    ("a model where another file is", _model_path),
    ("cancelled beside files of others", _cancelled_beside_others),
    ("the training is killed", _killed_training),
    ("a damaged episode", _damaged_episode),
    ("a request of half a megabyte", _request_of_megabytes),
    ("parameters of every kind of nonsense", _parameters),
    ("a parameter of unknown type", _unknown_type_of_parameter),
    ("life cycles in every order", _life_cycles),
    ("publishers that come and go", _publishers),
    ("many episodes", _many_episodes),
    ("episodes by themselves", _by_itself),
]


def cases(seed: int) -> Iterator[Case]:
    """Yield the cases; with another seed than 0 in another order, as one node takes them all."""
    acts = list(ACTS)
    if seed:
        np.random.default_rng(seed).shuffle(acts)
    yield from cases_on(LearnerStage, acts)


GROUP = Group("learner_live", cases, size=len(ACTS), seconds=150.0, limits_memory=False)
