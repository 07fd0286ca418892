# Isthmus's emulation of XRT for Spack: spack install py-isthmus-emulation@main.
# A site names its mirror of the repository: spack develop -p CHECKOUT py-isthmus-emulation@main.
from spack_repo.builtin.build_systems.python import PythonPackage

from spack.package import *


class PyIsthmusEmulation(PythonPackage):
    """Runs programs for AMD's XRT on emulated cards: a part of Isthmus."""

    license("Apache-2.0", checked_by="isthmus")

    version("main")

    build_directory = "emulation"

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.18:", type="build")
    depends_on("ninja", type="build")
    depends_on("py-scikit-build-core@0.10:", type="build")
    depends_on("py-isthmus@main", type=("build", "run"))
    depends_on("python@3.10:", type=("build", "run"))
