"""The compiled kernels; everything else about the package is in pyproject.toml."""

import os
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_ext import build_ext

FOLDER = Path("src/gaussnet/kernels/c")
SOURCES = ("module.c", "baseline.c", "avx2.c")
UNIX_FLAGS = ["-O3", "-std=gnu11", "-g0", "-fvisibility=hidden", "-Wno-psabi"]
MSVC_FLAGS = ["/O2", "/std:c11"]

NATIVE = Extension(
    "gaussnet.kernels._native",
    sources=[str(FOLDER / name) for name in SOURCES],
    include_dirs=[str(FOLDER)],
    depends=sorted(str(path) for path in FOLDER.rglob("*.[ch]")),
    define_macros=[("Py_LIMITED_API", "0x030B0000")],
    py_limited_api=True,
    optional=True,  # without a compiler the package installs all the same and uses NumPy
)


class BuildKernels(build_ext):
    """Builds with full optimisation, and says so to each compiler in its own words."""

    def build_extensions(self) -> None:
        flags = MSVC_FLAGS if self.compiler.compiler_type == "msvc" else UNIX_FLAGS
        for extension in self.extensions:
            extension.extra_compile_args = flags + os.environ.get("GAUSSNET_CFLAGS", "").split()
            if self.compiler.compiler_type != "msvc":
                extension.libraries = ["m"]
                extension.extra_link_args = os.environ.get("GAUSSNET_LDFLAGS", "").split()
        super().build_extensions()


class StableWheel(bdist_wheel):
    """Names the wheel for the stable ABI, so that one serves every later Python."""

    def finalize_options(self) -> None:
        self.py_limited_api = "cp311"
        super().finalize_options()


setup(ext_modules=[NATIVE], cmdclass={"build_ext": BuildKernels, "bdist_wheel": StableWheel})
