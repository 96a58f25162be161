//! The library as it is installed, for programs that are compiled with it or load it.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A folder with the library under its names.
pub(crate) struct Installed(tempfile::TempDir);

/// The folder of this crate.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_owned()
}

impl Installed {
    pub(crate) fn new() -> Installed {
        let folder = tempfile::tempdir().unwrap();
        // Cargo builds it next to what tests it.
        let test = std::env::current_exe().unwrap();
        let library = test.parent().unwrap().join("libcpudyno_c.so");
        assert!(library.exists(), "{}", library.display());
        for name in ["libcpudyno.so", "libcpudyno.so.0"] {
            symlink(&library, folder.path().join(name)).unwrap();
        }
        Installed(folder)
    }

    /// Compiles a program without a warning, and answers where it lies.
    pub(crate) fn compiled(&self, compiler: &[&str], source: &Path) -> PathBuf {
        let program = self.0.path().join(source.file_stem().unwrap());
        let mut command = Command::new(compiler[0]);
        command.args(&compiler[1..]).args(["-Wall", "-Wextra", "-Werror", "-O1", "-g", "-pthread"]);
        command.arg("-I").arg(root().join("include")).arg(source).arg("-o").arg(&program);
        command.arg("-L").arg(self.0.path()).arg("-lcpudyno");
        // What a compiler leaves behind, such as modules of Fortran, stays here.
        let output = command.current_dir(self.0.path()).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{command:?}\n{said}");
        program
    }

    /// What a program prints that finds the library; or how it ended, where not well.
    pub(crate) fn run(&self, program: &Command) -> Result<String, String> {
        // What hangs is ended: locks are among what is tested.
        let mut timeout = Command::new("timeout");
        timeout.arg("60").arg(program.get_program()).args(program.get_args());
        timeout.env("LD_LIBRARY_PATH", self.0.path());
        let output = timeout.output().map_err(|error| error.to_string())?;
        let said = String::from_utf8_lossy(&output.stderr);
        if output.status.code() != Some(0) || !said.is_empty() {
            return Err(format!("{}, and said: {said}", output.status));
        }
        String::from_utf8(output.stdout).map_err(|error| error.to_string())
    }
}
