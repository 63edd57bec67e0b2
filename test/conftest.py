"""What all tests share: one BLAS thread, reproducible examples, the folder of recorded data."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

# Before numpy is first imported: small products are slower on several threads.
for _variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")

CHECKOUT = Path(__file__).resolve().parents[1]

# The same examples in every run, and no verdict that depends on the speed of the machine.
settings.register_profile("reproducible", derandomize=True, deadline=None)
settings.load_profile("reproducible")


def _shared_folder() -> tuple[Path, str | None]:
    """Where the recorded data lies, and the sentence that says so where it does not."""
    folder = Path(os.environ.get("RFFPSR_SHARED") or CHECKOUT.parent / "shared")
    if folder.is_dir():
        return folder, None
    return folder, f"recorded data not found at {folder} (name its folder in RFFPSR_SHARED)"


@pytest.fixture(scope="session")
def checkout() -> Path:
    """Return the root of the checkout."""
    return CHECKOUT


@pytest.fixture(scope="session")
def shared() -> Path:
    """Return the folder of recorded data; without it the test is skipped."""
    folder, missing = _shared_folder()
    if missing:
        pytest.skip(missing)
    return folder


@pytest.fixture(scope="session")
def shared_required() -> Path:
    """Return the folder of recorded data; without it the test fails under CI, else is skipped."""
    folder, missing = _shared_folder()
    if missing and os.environ.get("CI") == "true":
        pytest.fail(missing, pytrace=False)
    if missing:
        pytest.skip(missing)
    return folder
