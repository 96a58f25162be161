//! The original STREAM as a child: compiled, executed and read; and whatever can go wrong with it.
//!
//! The program is one of our own that reports in the same form (`benchmarks/stream-format`), and
//! mutilated copies of it. They need a C compiler with OpenMP, and `curl`.

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use measure::original::{
    BuildEnvironment, Error, Function, Original, Sha256, StreamRequest, StreamSource, Validation,
    run,
};
use model::CpuId;
use rig::executor::Stop;
use tempfile::TempDir;

const LOOPS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../benchmarks/stream-format/loops.c");
/// Long enough for any machine that is not stuck.
const PATIENCE: Duration = Duration::from_mins(2);

/// A request, and the folder below which it may leave nothing.
struct Case {
    request: StreamRequest,
    temporary: TempDir,
    files: TempDir,
}

impl Case {
    /// Our own program on the first CPU, with short arrays.
    fn usual() -> Case {
        let temporary = tempfile::tempdir().unwrap();
        let surroundings = BuildEnvironment {
            temporary: temporary.path().to_owned(),
            ..BuildEnvironment::of_process()
        };
        let request = StreamRequest {
            source: StreamSource::new(LOOPS),
            sha256: None,
            compiler: None,
            cpus: usable(1),
            array_elements: 100_001,
            repetitions: 4,
            time_limit: PATIENCE,
            surroundings,
        };
        Case { request, temporary, files: tempfile::tempdir().unwrap() }
    }

    /// This text instead.
    fn of(text: &str) -> Case {
        let mut case = Case::usual();
        let path = case.files.path().join("stream.c");
        std::fs::write(&path, text).unwrap();
        case.request.source = StreamSource::File(path);
        case
    }

    /// The words that a source must have, and then this program.
    fn program(text: &str) -> Case {
        Case::of(&format!("/* STREAM_ARRAY_SIZE Copy Scale Add Triad */\n{text}"))
    }

    /// Runs it; whatever comes of it, nothing is left behind.
    fn run(&self, stop: &Stop) -> Result<Original, Error> {
        let done = run(&self.request, stop, &mut |_| {});
        let left: Vec<_> = std::fs::read_dir(self.temporary.path()).unwrap().collect();
        assert!(left.is_empty(), "{left:?}");
        done
    }

    fn report(&self) -> Original {
        self.run(&Stop::default()).unwrap()
    }

    fn error(&self) -> Error {
        self.run(&Stop::default()).unwrap_err()
    }
}

/// The first CPUs that this process may run on.
fn usable(count: usize) -> Vec<CpuId> {
    sys::affinity::current().unwrap().iter().take(count).collect()
}

fn loops() -> String {
    std::fs::read_to_string(LOOPS).unwrap()
}

/// Our program after a change that does take place.
fn changed(from: &str, to: &str) -> String {
    let text = loops();
    assert!(text.contains(from), "{from}");
    text.replace(from, to)
}

/// A folder that holds these programs and no others.
fn folder_of(programs: &[(&str, &str)]) -> (TempDir, OsString) {
    let folder = tempfile::tempdir().unwrap();
    for (name, script) in programs {
        let path = folder.path().join(name);
        std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
    }
    let search_path = folder.path().as_os_str().to_owned();
    (folder, search_path)
}

#[test]
fn our_own_program_is_compiled_executed_and_read() {
    for threads in 1..=usable(2).len() {
        let mut case = Case::usual();
        case.request.cpus = usable(threads);
        let original = case.report();
        let report = &original.report;
        assert_eq!(report.array_elements, Some(100_001));
        assert_eq!(report.threads, Some(threads as u32));
        assert_eq!(report.validation, Validation::Validates);
        for function in Function::ALL {
            let rate = report.rate(function);
            assert!(rate.best_bytes_per_second > 0.0, "{rate:?}");
            assert!(rate.shortest <= rate.average && rate.average <= rate.longest, "{rate:?}");
        }
        assert_eq!(original.sha256, Sha256::of(loops().as_bytes()));
        assert_eq!(original.revision, None);
        assert!(original.remarks.lines().is_empty(), "{}", original.remarks);
        assert!(!original.compiler.is_empty());
        let flags = ["-O3", "-march=native", "-fopenmp", "-DSTREAM_ARRAY_SIZE=100001"];
        assert_eq!(original.flags, [&flags[..], &["-DNTIMES=4"]].concat());
    }
}

/// The answer is in places that the runtime was given: a program that asks where it runs.
#[test]
fn threads_are_pinned_in_the_order_of_the_cpus() {
    let text = changed(
        "int main(void) {",
        "#define _GNU_SOURCE
         int sched_getcpu(void);
         int main(void) {
         int where[64];
         #pragma omp parallel
         where[omp_get_thread_num()] = sched_getcpu();
         #pragma omp parallel
         #pragma omp single
         for (int i = 0; i < omp_get_num_threads(); i++) fprintf(stderr, \"%d\\n\", where[i]);",
    );
    let mut cpus = usable(8);
    cpus.reverse();
    let mut case = Case::of(&text);
    case.request.cpus = cpus.clone();
    let expected: Vec<String> = cpus.iter().map(CpuId::to_string).collect();
    assert_eq!(case.report().remarks.lines(), expected);
}

#[test]
fn large_arrays_need_another_memory_model() {
    let flags = |elements| {
        let mut case = Case::of(&changed("static double a[LENGTH]", "static double a[1]"));
        case.request.array_elements = elements;
        // The compiler shows what it was told, and refuses.
        let script = "[ \"$1\" = --version ] && echo 'made up 1' || { echo $* >&2; exit 1; }";
        let (_folder, search_path) = folder_of(&[("gcc", script)]);
        case.request.surroundings.search_path = search_path;
        case.error().quote().unwrap().to_string()
    };
    let two_gib = (1 << 31) / 24;
    assert!(!flags(two_gib).contains("-mcmodel"));
    assert_eq!(flags(two_gib + 1).contains("-mcmodel=medium"), cfg!(target_arch = "x86_64"));
}

#[test]
fn the_revision_is_the_one_that_is_printed_or_else_in_the_source() {
    let in_source = format!("/* $Revision: 1.2 $ */\n{}", loops());
    assert_eq!(Case::of(&in_source).report().revision.as_deref(), Some("1.2"));
    let begin = "int main(void) {";
    let prints = changed(begin, &format!("{begin} puts(\"STREAM version $Revision: 3.4 $\");"));
    let both = format!("/* $Revision: 1.2 $ */\n{prints}");
    assert_eq!(Case::of(&both).report().revision.as_deref(), Some("3.4"));
}

#[test]
fn another_source_than_expected_is_refused_before_it_is_compiled() {
    let mut case = Case::usual();
    case.request.sha256 = Some(Sha256::of(loops().as_bytes()));
    case.report();
    case.request.sha256 = Some(Sha256::of(b"another one"));
    let (_folder, search_path) = folder_of(&[("gcc", "touch \"$0.ran\"; echo gcc")]);
    case.request.surroundings.search_path.clone_from(&search_path);
    let error = case.error();
    assert!(matches!(&error, Error::OtherSource { .. }), "{error}");
    let found = Sha256::of(loops().as_bytes()).to_string();
    assert!(error.to_string().contains(&found) && error.hint().unwrap().contains(&found));
    assert!(!Path::new(&search_path).join("gcc.ran").exists());
}

#[test]
fn sources_that_cannot_be_read_say_why() {
    let why = |path: &Path| {
        let mut case = Case::usual();
        case.request.source = StreamSource::File(path.to_owned());
        case.error().to_string()
    };
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("missing.c");
    assert!(why(&missing).ends_with("missing.c`: there is no such file or folder"));
    assert!(why(folder.path()).ends_with("`: it is a folder"));
    assert!(why(Path::new("/dev/zero")).ends_with("`: it is no regular file"));
    let long = folder.path().join("long.c");
    std::fs::write(&long, vec![b' '; (1 << 20) + 1]).unwrap();
    assert!(why(&long).ends_with("`: it has more than 1048576 bytes"));
}

#[test]
fn a_source_that_is_not_stream_is_not_compiled() {
    let error = Case::of("int main(void) { return 0; }").error();
    assert!(matches!(error, Error::NotStream { .. }), "{error}");
    assert!(error.to_string().ends_with("as STREAM: it does not mention `STREAM_ARRAY_SIZE`"));
}

#[test]
fn what_the_compiler_says_is_shown() {
    let error = Case::program("int main(void) { return one_word two; }").error();
    assert!(matches!(error, Error::NotCompiled { .. }), "{error}");
    assert!(error.to_string().contains("error: "), "{error}");
    assert!(error.quote().unwrap().to_string().contains("one_word"));
}

#[test]
fn what_is_no_report_is_shown() {
    let print = |text: &str| {
        Case::program(&format!("int puts(const char *); int main(void) {{ puts({text:?}); }}"))
    };
    let error = print("Copy: much\nScale: more").error();
    assert!(matches!(error, Error::NotAReport { .. }), "{error}");
    assert_eq!(
        error.to_string(),
        "cannot read the report of STREAM: expected a rate and three times after `Copy:`; \
         it begins with: Copy: much"
    );
    assert!(matches!(print("").error(), Error::NotAReport { .. }));
}

#[test]
fn a_program_that_dies_is_not_believed() {
    let error = Case::program("int main(void) { __builtin_trap(); }").error();
    assert!(matches!(error, Error::Failed { .. }), "{error}");
    assert!(error.to_string().contains("signal"), "{error}");
    let killed = Case::program("#include <signal.h>\nint main(void) { raise(SIGKILL); }").error();
    assert!(killed.hint().unwrap().contains("lack of memory"), "{killed}");
    let text = changed("    check();\n    return 0;", "    check();\n    return 3;");
    let error = Case::of(&text).error();
    assert!(error.to_string().contains("it failed (exit status: 3): Array size"), "{error}");
}

#[test]
fn a_failed_check_of_the_arrays_is_an_error() {
    let error = Case::of(&changed("a[i] = b[i] + FACTOR", "a[i] = b[i] + 1.1 * FACTOR")).error();
    assert!(matches!(error, Error::WrongAnswer { .. }), "{error}");
    assert!(error.to_string().contains("Failed Validation on array a[]"), "{error}");
}

#[test]
fn a_program_without_a_check_says_so() {
    let original = Case::of(&changed("    check();\n    return 0;", "    return 0;")).report();
    assert_eq!(original.report.validation, Validation::Absent);
}

#[test]
fn another_size_than_asked_for_is_an_error() {
    let error = Case::of(&changed(
        "#define LENGTH",
        "#undef STREAM_ARRAY_SIZE\n\
        #define STREAM_ARRAY_SIZE 5000\n#define LENGTH",
    ))
    .error();
    assert_eq!(
        error.to_string(),
        "cannot compare with STREAM: it ran with 5000 elements where 100001 were asked for"
    );
    let error = Case::of(&changed("threads += 1;", "threads += 2;")).error();
    assert!(error.to_string().contains("it ran with 2 threads where 1 were asked for"), "{error}");
}

/// As a string of C.
fn quoted(path: &Path) -> String {
    format!("{:?}", path.to_str().unwrap())
}

/// A program that writes down its own process and a child's, and then waits.
fn hanging(pids: &Path) -> Case {
    Case::program(&format!(
        "#include <stdio.h>\n#include <unistd.h>\n
         int main(void) {{
             int child = fork();
             if (child == 0) for (;;) pause();
             FILE *file = fopen({part}, \"w\");
             fprintf(file, \"%d %d\", (int)getpid(), child);
             fclose(file);
             rename({part}, {pids});
             for (;;) pause();
         }}",
        part = quoted(&pids.with_extension("part")),
        pids = quoted(pids),
    ))
}

/// That the processes whose numbers are in the file are gone, or at least dead.
fn assert_gone(pids: &Path) {
    let text = std::fs::read_to_string(pids).unwrap();
    let pids: Vec<&str> = text.split(' ').collect();
    assert_eq!(pids.len(), 2, "{text}");
    for pid in pids {
        // An orphan that was killed vanishes when its new parent looks at it; until then it is a
        // zombie, or on its way there.
        let alive = || {
            let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            stat.rsplit_once(") ").is_some_and(|(_, state)| !state.starts_with(['Z', 'X']))
        };
        let begun = std::time::Instant::now();
        while alive() {
            assert!(begun.elapsed() < PATIENCE, "process {pid} is alive");
            std::thread::yield_now();
        }
    }
}

#[test]
fn a_program_that_hangs_is_killed_with_its_children() {
    let folder = tempfile::tempdir().unwrap();
    let pids = folder.path().join("pids");
    let mut case = hanging(&pids);
    // What the program writes down takes milliseconds; on a machine where it takes longer than
    // the limit, the limit grows.
    case.request.time_limit = Duration::from_millis(200);
    loop {
        let error = case.error();
        assert!(matches!(error, Error::TookTooLong { .. }), "{error}");
        if pids.exists() {
            break;
        }
        case.request.time_limit *= 2;
        assert!(case.request.time_limit < PATIENCE);
    }
    assert_gone(&pids);
}

#[test]
fn an_interrupted_program_is_killed_with_its_children() {
    let folder = tempfile::tempdir().unwrap();
    let pids = folder.path().join("pids");
    let case = hanging(&pids);
    let stop = Stop::default();
    let error = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !pids.exists() {
                std::thread::yield_now();
            }
            stop.ask();
        });
        case.run(&stop).unwrap_err()
    });
    assert!(matches!(error, Error::Interrupted), "{error}");
    assert_gone(&pids);
}

#[test]
fn whoever_asks_to_stop_early_starts_nothing() {
    let stop = Stop::default();
    stop.ask();
    assert!(matches!(Case::usual().run(&stop), Err(Error::Interrupted)));
}

#[test]
fn a_program_that_does_not_stop_printing_is_killed() {
    let text = "int puts(const char *); int main(void) { for (;;) puts(\"Copy: 1 2 3 4\"); }";
    let error = Case::program(text).error();
    assert!(matches!(error, Error::PrintedTooMuch { .. }), "{error}");
}

#[test]
fn a_missing_compiler_is_named() {
    let mut case = Case::usual();
    let (_folder, nothing) = folder_of(&[]);
    case.request.surroundings.search_path = nothing;
    let error = case.error();
    assert_eq!(error.to_string(), "cannot compile STREAM: there is none of gcc, cc, clang");
    assert_eq!(error.hint().as_deref(), Some("apt install gcc"));
    let with = |compiler: &str| {
        let mut case = Case::usual();
        case.request.compiler = Some(compiler.to_owned());
        case.error().to_string()
    };
    let begin = "cannot use compiler";
    assert_eq!(with("no-such-cc"), format!("{begin} `no-such-cc`: there is no such program"));
    assert_eq!(with("/x/cc"), format!("{begin} `/x/cc`: there is no such file or folder"));
    assert_eq!(with("/tmp"), format!("{begin} `/tmp`: it is no program"));
    assert_eq!(with(LOOPS), format!("{begin} `{LOOPS}`: it is no program"));
    assert!(with("false").contains("does not answer `--version`"));
}

#[test]
fn a_compiler_is_taken_by_name_or_path() {
    let mut case = Case::usual();
    case.request.compiler = Some("cc".to_owned());
    let by_name = case.report().compiler;
    let found = std::env::split_paths(&case.request.surroundings.search_path)
        .map(|folder| folder.join("cc"))
        .find(|path| path.exists());
    case.request.compiler = found.map(|path| path.display().to_string());
    assert_eq!(case.report().compiler, by_name);
}

#[test]
fn requests_that_contradict_themselves_are_refused() {
    let why = |change: fn(&mut StreamRequest)| {
        let mut case = Case::usual();
        change(&mut case.request);
        case.error().to_string()
    };
    assert!(why(|it| it.array_elements = 0).contains("arrays of 0 elements"));
    assert!(why(|it| it.array_elements = u64::MAX).contains("no memory holds arrays"));
    assert!(why(|it| it.array_elements = u64::MAX / 24).contains("no memory holds arrays"));
    assert!(why(|it| it.repetitions = 1).contains("at least 2 repetitions"));
    assert!(why(|it| it.cpus.clear()).contains("no CPU"));
    assert!(why(|it| it.cpus = vec![CpuId(0), CpuId(0)]).contains("named twice"));
    let folder = why(|it| it.surroundings.temporary = PathBuf::from("/no/such/folder"));
    assert_eq!(
        folder,
        "cannot make a temporary folder in `/no/such/folder`: there is no such file or folder"
    );
}

/// Answers one request with this status and body, on a port of this machine.
fn serve(status: &'static str, body: String) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/stream.c", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let request = BufReader::new(stream.try_clone().unwrap());
        // A request ends with an empty line.
        request.lines().map_while(Result::ok).take_while(|line| !line.is_empty()).for_each(drop);
        let length = body.len();
        let head = format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\n");
        write!(stream, "{head}Connection: close\r\n\r\n{body}").unwrap();
    });
    url
}

fn of_url(url: String) -> Case {
    let mut case = Case::usual();
    case.request.source = StreamSource::Url(url);
    case
}

/// With a `curl` that does not send what is meant for this machine to a proxy.
fn without_proxy(url: String) -> Result<Original, Error> {
    let script = "unset http_proxy all_proxy ALL_PROXY; PATH=${PATH#*:}; exec curl \"$@\"";
    let (folder, _) = folder_of(&[("curl", script)]);
    let mut case = of_url(url);
    let usual = std::mem::take(&mut case.request.surroundings.search_path);
    let folders = std::iter::once(folder.path().to_owned()).chain(std::env::split_paths(&usual));
    case.request.surroundings.search_path = std::env::join_paths(folders).unwrap();
    case.run(&Stop::default())
}

#[test]
fn a_url_is_fetched_by_curl() {
    let original = without_proxy(serve("200 OK", loops())).unwrap();
    assert_eq!(original.sha256, Sha256::of(loops().as_bytes()));
    let error = without_proxy(serve("404 Not Found", loops())).unwrap_err();
    assert!(matches!(error, Error::NotFetched { .. }), "{error}");
    assert!(error.to_string().contains("404"), "{error}");
    let error = without_proxy(serve("200 OK", "<html>Welcome</html>".to_owned())).unwrap_err();
    assert!(matches!(error, Error::NotStream { .. }), "{error}");
    let error = of_url("no-such://x".to_owned()).error();
    assert!(matches!(error, Error::NotFetched { .. }), "{error}");
}

#[test]
fn without_curl_the_command_is_told() {
    let mut case = of_url("http://127.0.0.1/a b".to_owned());
    let (_folder, nothing) = folder_of(&[]);
    case.request.surroundings.search_path = nothing;
    let error = case.error();
    assert_eq!(error.to_string(), "cannot fetch `http://127.0.0.1/a b`: there is no `curl`");
    let by_hand = "`curl --fail --location --output stream.c 'http://127.0.0.1/a b'`";
    assert!(error.hint().unwrap().contains(by_hand), "{:?}", error.hint());
}
