"""Messages to vectors on a regular grid of ticks: fields, channels and the one sampler."""

from rffpsr_ros.signals.channel import Channel
from rffpsr_ros.signals.channel_file import load_channels
from rffpsr_ros.signals.channels import ChannelConfiguration
from rffpsr_ros.signals.events import Event, SegmentEnd, Tick
from rffpsr_ros.signals.fields.resolver import FieldResolver
from rffpsr_ros.signals.sampler import Sampler
from rffpsr_ros.signals.stamps import stamp_of

__all__ = [
    "Channel",
    "ChannelConfiguration",
    "Event",
    "FieldResolver",
    "Sampler",
    "SegmentEnd",
    "Tick",
    "load_channels",
    "stamp_of",
]
