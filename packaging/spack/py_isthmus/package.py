# Isthmus for Spack: copy py_isthmus*/ to REPO/packages/, then spack install py-isthmus@main.
# A site names its mirror of the repository: spack develop -p CHECKOUT py-isthmus@main.
from spack_repo.builtin.build_systems.python import PythonPackage

from spack.package import *


class PyIsthmus(PythonPackage):
    """Measures, explains and judges the crossing between a host and its accelerators."""

    license("Apache-2.0", checked_by="isthmus")

    version("main")

    variant("report", default=True, description="The page and its plots")
    variant("mpi", default=False, description="Runs over ranks")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.18:", type="build")
    depends_on("ninja", type="build")
    depends_on("py-nanobind@2.2:", type="build")
    depends_on("py-scikit-build-core@0.10:", type="build")
    depends_on("python@3.10:", type=("build", "link", "run"))
    depends_on("py-msgspec@0.18:", type=("build", "run"))
    depends_on("py-numpy@1.26:", type=("build", "run"))
    depends_on("py-psutil@5.9:", type=("build", "run"))
    depends_on("py-rich@13.7:", type=("build", "run"))
    depends_on("py-tomli@2:", type=("build", "run"), when="^python@:3.10")
    depends_on("py-typer@0.12:0.28", type=("build", "run"))
    with when("+report"):
        depends_on("py-jinja2@3.1:", type=("build", "run"))
        depends_on("py-pandas@2:", type=("build", "run"))
        depends_on("py-vl-convert-python@1.6:", type=("build", "run"))
    depends_on("py-mpi4py@4.1:", type=("build", "run"), when="+mpi")
