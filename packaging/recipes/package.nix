# Nix: `nix-build -E 'with import <nixpkgs> {}; callPackage ./package.nix {}'`
{
  lib,
  fetchurl,
  rustPlatform,
}:

rustPlatform.buildRustPackage {
  pname = "cpudyno";
  version = "@VERSION@";

  # The archive of this release; whoever publishes it puts its address here.
  src = fetchurl {
    url = "file:///path/to/cpudyno-@VERSION@.tar.gz";
    sha256 = "@SHA256@";
  };

  cargoLock.lockFile = ./Cargo.lock;
  cargoBuildFlags = [ "--package=cpudyno" ];
  # The full check measures this machine.
  doCheck = false;

  meta = {
    description = "A dynamometer for CPUs";
    homepage = "@HOMEPAGE@";
    license = with lib.licenses; [
      mit
      asl20
    ];
    mainProgram = "cpudyno";
    platforms = [
      "x86_64-linux"
      "aarch64-linux"
    ];
  };
}
