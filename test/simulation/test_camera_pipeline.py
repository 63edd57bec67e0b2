"""From a camera's messages to forecasts of what it will see."""

from __future__ import annotations

import pytest

from rffpsr_ros.simulation.arm_camera import SIZE

TICKS = 150


@pytest.mark.long
def test_forecasts_beat_the_last_frame_and_the_mean_frame() -> None:
    pytest.importorskip("pydrake", reason="needs Drake: pip install drake")
    from benchmarks.arm_camera import LAST, MEAN, RFF_PSR, judge, record

    runs = [record(seed, TICKS) for seed in range(20)]
    assert runs[0].observations.shape == (TICKS, SIZE * SIZE)
    assert 0.0 <= runs[0].observations.min() < runs[0].observations.max() <= 1.0
    few = {"iterations": 20, "narx_learning": "off", "narx_affine": "off"}
    judged = judge(runs, few, (RFF_PSR, LAST, MEAN))
    error = {name: one.mse for name, one in judged.errors.items()}
    assert (error[RFF_PSR] < error[LAST])[2:10].all()
    assert (error[RFF_PSR] < error[MEAN])[:3].all()
