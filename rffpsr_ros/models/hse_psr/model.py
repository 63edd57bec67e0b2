"""The HSE-PSR that RFF-PSR approximates: the same model on the kernel's own features."""

from __future__ import annotations

from typing import ClassVar

from rffpsr_ros.models.rff_psr.model import RFFPSRModel


class HSEPSRModel(RFFPSRModel):
    """An RFF-PSR whose features are the kernel's own, in coordinates of a `KernelMap`."""

    kind: ClassVar[str] = "hse_psr"
