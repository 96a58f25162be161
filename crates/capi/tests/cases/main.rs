//! The examples in languages other than C, each compiled and run as the guide says.
//!
//! Where a compiler or interpreter is not installed, its cases are shown as ignored; `CPUDYNO_NEEDS_LANGUAGES=1`, which the
//! project's full check sets, makes them fail there. Debian has no Julia: its case runs where somebody installed one.

use std::process::{Command, ExitCode};

use libtest_mimic::{Arguments, Failed, Trial};

#[path = "../it/installed.rs"]
mod installed;

use installed::{Installed, root};

/// A language.
struct Language {
    /// What the program is called, which answers to `--version` or `-v`.
    program: &'static str,
    version: &'static str,
    /// How it compiles; none: it is an interpreter.
    compiles: Option<&'static [&'static str]>,
    /// Whether the full check installs it.
    is_needed: bool,
    examples: &'static [Example],
}

/// A file, the machine that it is run on, and what it prints.
struct Example {
    file: &'static str,
    machine: &'static str,
    prints: &'static [&'static str],
}

/// The simulated loop has two instructions for each trip, one of them a branch, and nine around them, two of them branches.
const LANGUAGES: &[Language] = &[
    Language {
        program: "g++",
        version: "--version",
        compiles: Some(&["g++", "-std=c++11", "-Wpedantic"]),
        is_needed: true,
        examples: &[Example {
            file: "regions.cpp",
            machine: "sim:4c",
            prints: &["region `work`: 2 calls", "4,018", "2009.000"],
        }],
    },
    Language {
        program: "gfortran",
        version: "--version",
        compiles: Some(&["gfortran", "-std=f2018", "-Wno-c-binding-type"]),
        is_needed: true,
        examples: &[BANDWIDTH_IN_FORTRAN],
    },
    Language {
        program: "luajit",
        version: "-v",
        compiles: None,
        is_needed: true,
        examples: &[Example {
            file: "regions.lua",
            machine: "sim:4c",
            prints: &["region `packets`: 1000 calls", "209,000", "102,000"],
        }],
    },
    Language {
        program: "julia",
        version: "--version",
        compiles: None,
        is_needed: false,
        examples: &[Example { file: "bandwidth.jl", ..BANDWIDTH_IN_FORTRAN }],
    },
];

const BANDWIDTH_IN_FORTRAN: Example = Example {
    file: "bandwidth.f90",
    machine: "sim:2s-56c",
    prints: &[" threads, triad: ", " GB/s"],
};

fn main() -> ExitCode {
    let trials = LANGUAGES.iter().flat_map(|language| {
        let lacks = (!language.is_there()).then(|| format!(": `{}` is not here", language.program));
        let is_asked = std::env::var_os("CPUDYNO_NEEDS_LANGUAGES").is_some() && language.is_needed;
        language.examples.iter().map(move |example| {
            let name =
                format!("languages::{}{}", example.file, lacks.as_deref().unwrap_or_default());
            Trial::test(name, || language.runs(example))
                .with_ignored_flag(lacks.is_some() && !is_asked)
        })
    });
    libtest_mimic::run(&Arguments::from_args(), trials.collect()).exit_code()
}

impl Language {
    fn is_there(&self) -> bool {
        Command::new(self.program)
            .arg(self.version)
            .output()
            .is_ok_and(|done| done.status.success())
    }

    fn runs(&self, example: &Example) -> Result<(), Failed> {
        let installed = Installed::new();
        let source = root().join("examples").join(example.file);
        let run = |machine: &str| {
            let mut program = if let Some(compiler) = self.compiles {
                Command::new(installed.compiled(compiler, &source))
            } else {
                let mut interpreter = Command::new(self.program);
                interpreter.arg(&source);
                interpreter
            };
            installed.run(program.arg(machine))
        };
        let printed = run(example.machine)?;
        for words in example.prints {
            if !printed.contains(words) {
                return Err(format!("{words:?} is not in\n{printed}").into());
            }
        }
        // A machine that there is not: the language shows the library's text.
        match run("sim:nowhere") {
            Err(why) if why.contains("nowhere") => Ok(()),
            other => Err(format!("no error: {other:?}").into()),
        }
    }
}
