"""All groups of inputs, by name: each is one module that says which cases it has."""

from __future__ import annotations

from benchmarks.audit import (
    cdr_messages,
    csv_files,
    filter_live,
    image_messages,
    learner_live,
    model_files,
    replay_logs,
    yaml_texts,
)
from benchmarks.audit.bags import bag_files
from benchmarks.audit.command_line import probes
from benchmarks.audit.runner import Group

GROUPS: dict[str, Group] = {
    group.name: group
    for group in (
        bag_files.GROUP,
        cdr_messages.GROUP,
        probes.GROUP,
        csv_files.GROUP,
        image_messages.GROUP,
        model_files.GROUP,
        model_files.COMPILED_GROUP,
        filter_live.GROUP,
        learner_live.GROUP,
        replay_logs.GROUP,
        yaml_texts.GROUP,
    )
}
