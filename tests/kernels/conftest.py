"""The compiled kernels, in every build that this processor can run."""

import os
from collections.abc import Iterator

import pytest

if os.environ.get("GAUSSNET_KERNELS") == "numpy":
    BUILDS = [pytest.param("", marks=pytest.mark.skip("the compiled kernels are switched off"))]
else:
    try:
        from gaussnet.kernels import _native
    except ImportError as error:
        raise RuntimeError(
            "the compiled kernels are not built: run `python setup.py build_ext --inplace`, "
            "or set GAUSSNET_KERNELS=numpy to test without them"
        ) from error
    BUILDS = _native.builds()


@pytest.fixture(params=BUILDS)
def build(request: pytest.FixtureRequest) -> Iterator[str]:
    """Every build that this processor can run, one after the other."""
    _native.use_build(request.param)
    yield request.param
    _native.use_build(_native.builds()[0])
