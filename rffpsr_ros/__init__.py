"""Learn how a robot responds to commands from its recorded topics, and predict its future live."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"
__all__ = [
    "RFFPSR",
    "InputError",
    "Trajectory",
    "__version__",
    "load_model",
    "read_bags",
    "train",
    "train_more",
    "with_channels",
]

if TYPE_CHECKING:
    from rffpsr_ros.errors import InputError
    from rffpsr_ros.models.loading import load_model
    from rffpsr_ros.recipe.learner import RFFPSR
    from rffpsr_ros.recordings.bags.reader import read_bags
    from rffpsr_ros.recordings.trajectory import Trajectory
    from rffpsr_ros.training.signing import with_channels
    from rffpsr_ros.training.train import train
    from rffpsr_ros.training.train_more import train_more

_HOMES = {
    "InputError": "rffpsr_ros.errors",
    "RFFPSR": "rffpsr_ros.recipe.learner",
    "Trajectory": "rffpsr_ros.recordings.trajectory",
    "load_model": "rffpsr_ros.models.loading",
    "read_bags": "rffpsr_ros.recordings.bags.reader",
    "train": "rffpsr_ros.training.train",
    "train_more": "rffpsr_ros.training.train_more",
    "with_channels": "rffpsr_ros.training.signing",
}


def __getattr__(name: str) -> Any:
    """Import what the package offers when it is first asked for: a start costs what it needs."""
    if name not in _HOMES:
        raise AttributeError(f"module 'rffpsr_ros' has no attribute '{name}'")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
