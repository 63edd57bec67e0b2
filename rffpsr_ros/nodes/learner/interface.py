"""What the learner node offers: its parameters, topics and services."""

from __future__ import annotations

from rffpsr_ros.nodes.learner.training_run import NICENESS
from rffpsr_ros.nodes.shared.interface import LATCHED, Interface, Service, Topic
from rffpsr_ros.nodes.shared.parameters import (
    AUTOSTART,
    EXECUTOR,
    MODEL_FOLDERS,
    RESET_ON_TIME_JUMP,
    Parameter,
)
from rffpsr_ros.parallel.processes import MOST_PROCESSES

_DESCRIPTION = """\
Records episodes of a running robot and trains a model on them. What to record is the channel
configuration: in a file (`channels_file`), or among the node's parameters (`--params-file`).

```
ros2 launch rffpsr_ros learner.launch.py params_file:=arm.yaml
ros2 service call /rffpsr_learner/start_episode std_srvs/srv/Trigger
ros2 service call /rffpsr_learner/end_episode std_srvs/srv/Trigger
ros2 service call /rffpsr_learner/train std_srvs/srv/Trigger
```

**Episodes** are rosbag2 bags (MCAP) named by date and label. The label and the channel
configuration stand in the metadata (`custom_data`: `label`, `rffpsr_channels`). While one is
recorded it lies in the hidden folder `.recording`, written out every quarter of a second: after a
kill the next learner completes what was left. When time goes back one episode ends and the next
begins; when that happens five times in a row, each time after less than a second, recording ends,
as two clocks on one topic would leave hundreds of bags. With less than `minimum_free_disk` an
episode ends, and is kept. An episode without a message on a topic, or without one number of a
field, is kept all the same; one WARN line and the answer of `~/end_episode` say what it lacks, and
likewise which topic fell silent in its middle, for 2 s, `max_gap` and ten of its intervals at the
least. A `channels_file` that is missing or wrong at the start is looked for again until it is in
order.

**Training** runs in a process of its own, at low priority and on one thread, and ends with the
node. First it looks whether the recordings can teach a model (docs/exploration.md); what they lack
is logged and stands in `~/status`. The model file appears complete or not at all. Bags of
`ros2 bag record` train just as well: put them into the folder, or use `rffpsr train`. A folder
without a bag and an episode that cannot be read are left out, with one WARN line each.

**Learning goes on** from what lies beside the newest model (its name and `.kept`): only episodes
that it does not know are learned from (docs/command_line.md). It trains on all episodes anew if
that cannot be, or as soon as there are more than twice as many as its windows, features and ranks
were chosen with (not with `training_forget`): what was right for little data is not for much. With
`retrain_after` the learner trains by itself. One in four new episodes, the newest first, is then
held out, of those that are long enough to learn from; the model that forecasts these better, as far
ahead as it was learned for, the new one or the one before, stays, and `~/status` says which, with
both errors. Where only one episode is long enough, it is learned from and nothing is judged. What
was held out is learned from the next time. A filter with `reload_when_newer` serves the new model
at once; where it has the same topics, no message is lost on the way, and the belief begins anew.
"""

_PARAMETERS = (
    AUTOSTART,
    Parameter(
        "channels_file",
        "",
        "A file with the channel configuration; empty: it is among this node's parameters"
        " (`rate`, `observation.inputs`, ...).",
    ),
    Parameter(
        "dataset_directory",
        "",
        "The folder of the episodes; empty: `rffpsr/episodes` in `ROS_HOME` (`~/.ros`).",
    ),
    Parameter(
        "model_path",
        "",
        "The model file to write; empty: a new one named by date in `rffpsr/models` in `ROS_HOME`."
        " It replaces a model file, and nothing else; see `model_folders`.",
        fixed=False,
    ),
    MODEL_FOLDERS,
    Parameter(
        "episode.label",
        "",
        "A word for the next episodes; part of their names and stored along.",
        fixed=False,
    ),
    Parameter(
        "episode.max_duration",
        0.0,
        "Seconds after which an episode ends and is kept, whether or not anybody sends; 0: none.",
        0.0,
        1e9,
        fixed=False,
    ),
    Parameter(
        "episode.auto_start",
        False,
        "Start an episode as soon as every topic has a message, and again after each end, once the"
        " first of the observations sends.",
        fixed=False,
    ),
    RESET_ON_TIME_JUMP,
    Parameter(
        "minimum_free_disk",
        200.0,
        "Megabytes; with less free disk space an episode ends and none starts.",
        1.0,
        1e9,
        fixed=False,
    ),
    Parameter("queue_depth", 5000, "Messages of a topic that may wait to be recorded.", 1, 100_000),
    Parameter(
        "training_niceness",
        NICENESS,
        "By how much training stands back behind the robot's processes: 19 most, 0 not at all. On a"
        " processor that is always busy a niceness of 10 leaves it a few percent.",
        0,
        19,
        fixed=False,
    ),
    Parameter(
        "training_processes",
        1,
        "How many processes learn side by side: on the robot's own computer one, so that the others"
        " of its cores stay free. The configuration's `learning.processes` goes first. The model is"
        " the same.",
        1,
        MOST_PROCESSES,
        fixed=False,
    ),
    Parameter(
        "retrain_after",
        0,
        "After so many new episodes the learner trains by itself, at least 2; 0: only when asked."
        " One in four of them is held out, and only a model that forecasts these better than the"
        " one before takes its place.",
        0,
        10_000,
        fixed=False,
    ),
    Parameter(
        "train_anew",
        False,
        "Train on all kept episodes anew, instead of going on from the newest model with those that"
        " it does not know.",
        fixed=False,
    ),
    Parameter(
        "training_forget",
        0.0,
        "The share that all that was learned before loses of what it counts when training goes on.",
        0.0,
        1.0,
        fixed=False,
    ),
    Parameter(
        "report",
        False,
        "Write a page beside each new model that shows how good it is, see"
        " [report](report.md): `model_path` with `.html` after it.",
        fixed=False,
    ),
    EXECUTOR,
)

_TOPICS = (
    Topic(
        "the channels' topics",
        "subscribed",
        "as configured, else as published",
        "as strong as every publisher offers, depth `queue_depth`",
        "What is recorded, as it arrives. While an episode is on a subscription stays as it is, as"
        " long as it hears anybody: a publisher that offers less is heard from the next one on.",
    ),
    Topic(
        "~/status",
        "published",
        "diagnostic_msgs/msg/DiagnosticStatus",
        LATCHED,
        "What the learner is doing: stage and progress of a training and its error on held-out data"
        " by now (in standard deviations of the observations), then the model file, what it was"
        " trained on, its error by horizon on held-out data, and what was decided and why (the"
        " model stays where a new one is not better), the verdict, and where the report is;"
        " warnings of what the recordings lack; or why something failed.",
    ),
    Topic("~/recording", "published", "std_msgs/msg/Bool", LATCHED, "Whether an episode is on."),
)

_SERVICES = (
    Service("~/start_episode", "Begin to record an episode."),
    Service("~/end_episode", "End the episode and keep it, as a bag in `dataset_directory`."),
    Service("~/discard_episode", "End the episode and delete it."),
    Service(
        "~/train",
        "Train in a process of its own, see `~/status`: go on from the newest model with the"
        " episodes that it does not know; on all kept episodes if that cannot be, they have more"
        " than doubled, or `train_anew` is set.",
    ),
    Service("~/cancel_training", "End the training; it leaves no process and no file."),
)

LEARNER = Interface(
    executable="learner_node",
    name="rffpsr_learner",
    description=_DESCRIPTION,
    parameters=_PARAMETERS,
    topics=_TOPICS,
    services=_SERVICES,
)
