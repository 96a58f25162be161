# Spack (https://spack.readthedocs.io): `spack repo add` the folder above `packages/cpudyno/`, `spack install cpudyno`.

from spack.package import *


class Cpudyno(CargoPackage):
    """A dynamometer for CPUs: it measures what a machine's CPU really does, and says how sure it is."""

    homepage = "@HOMEPAGE@"
    # The archive of this release; whoever publishes it puts its address here.
    url = "file:///path/to/cpudyno-@VERSION@.tar.gz"

    license("MIT OR Apache-2.0")

    version("@VERSION@", sha256="@SHA256@")

    depends_on("rust@@RUST@:", type="build")
    depends_on("c", type="build")

    build_directory = "crates/cpudyno"
