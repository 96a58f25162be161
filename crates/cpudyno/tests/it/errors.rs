//! Whatever is wrong with the arguments or the files: one line that says what, one line that helps,
//! the exit code of the help, nothing on standard output, no file left behind.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::common::{cpudyno, finish};

/// What is done wrong, and what is said about it.
struct Case {
    /// The arguments, separated by blanks; `''` is an empty one.
    args: &'static str,
    /// The exit code.
    code: i32,
    /// How the error begins.
    error: &'static str,
    /// What the hint has in it.
    hint: &'static str,
}

const fn case(args: &'static str, code: i32, error: &'static str, hint: &'static str) -> Case {
    Case { args, code, error, hint }
}

const USAGE: i32 = 2;
const CANNOT: i32 = 3;
const REFUSED: i32 = 4;

#[rustfmt::skip] // One case, two lines: arguments and code, error and hint.
const ARGUMENTS: &[Case] = &[
    case("sst plan", USAGE,
        "`cpudyno sst plan` is followed by nothing", "one of perf-profile, base-freq, turbo-freq, such as `cpudyno sst plan base-freq`"),
    case("sst config", USAGE,
        "`config` needs its feature before it: core-power", "sudo cpudyno sst core-power config -c 0 -n 2600"),
    case("sst core-power config", USAGE,
        "`cpudyno sst core-power config` needs --clos <N>", "sudo cpudyno sst core-power config -c 0 -n 2600"),
    case("sst core-power config -c 1 -e 16", USAGE,
        "invalid value '16' for '--epp <N>'", "such as -e 2"),
    case("top -n 0", USAGE,
        "invalid value '0' for '--intervals <N>': expected a number from 1 to", "leave it out"),
    case("turbo --threads 1-4", USAGE,
        "unexpected argument '--threads' found", "--min-threads 1 --max-threads 4"),
    case("turbo --max-threads 1-4", USAGE,
        "invalid value '1-4' for '--max-threads <N>': expected a number", "one number, such as 4"),
    case("openmp --threads 1-4", USAGE,
        "invalid value '1-4' for '--threads <LIST>': expected a number", "such as 1,2,4"),
    case("info --format xml", USAGE,
        "invalid value 'xml' for '--format <FORMAT>': expected one of text, json, markdown, html",
        "did you mean `html`?"),
    case("pmu kernel fma", USAGE,
        "invalid value 'fma' for '<NAME>': no such kernel", "_fma`?"),
    case("shet", USAGE,
        "unrecognized subcommand 'shet'", "did you mean `sheet`?"),
    case("help shet", USAGE,
        "unrecognized subcommand 'shet'", "did you mean `sheet`?"),
    case("help memory zzz", USAGE,
        "unrecognized subcommand 'zzz'", "`cpudyno memory --help`"),
    case("help zzz", USAGE,
        "unrecognized subcommand 'zzz'", "`cpudyno help --all`"),
    case("help --all memory", USAGE,
        "the argument '--all' cannot be used with '[COMMAND]...'", "`cpudyno help --help`"),
    case("--nope", USAGE,
        "unexpected argument '--nope' found", "`cpudyno --help`"),
    case("sheet extra", USAGE,
        "unexpected argument 'extra' found", "`cpudyno sheet --help`"),
    case("sheet --bugdet 3s", USAGE,
        "unexpected argument '--bugdet' found", "did you mean `--budget`?"),
    case("sheet --budget 0s", USAGE,
        "invalid value '0s' for '--budget <TIME>': expected a time from 1s to", "--budget 30s"),
    case("sheet --budget 0", USAGE,
        "invalid value '0' for '--budget <TIME>': expected a time from 1s to", "--budget 30s"),
    case("sheet --budget soon", USAGE,
        "invalid value 'soon' for '--budget <TIME>': expected a time from 1s to", "--budget 30s"),
    case("sheet --budget 2h", USAGE,
        "invalid value '2h' for '--budget <TIME>': expected a time from 1s to", "--budget 30s"),
    case("sheet --budget ''", USAGE,
        "invalid value '' for '--budget <TIME>': expected a time from 1s to", "--budget 30s"),
    case("sheet --budget", USAGE,
        "a value is required for '--budget <TIME>'", "`cpudyno sheet --help`"),
    case("sheet --budget 1s --budget 2s", USAGE,
        "the argument '--budget <TIME>' cannot be used multiple times", "`cpudyno sheet --help`"),
    case("sheet --streams avx256_fmaa", USAGE,
        "invalid value 'avx256_fmaa' for '--streams <IDS>': no such stream",
        "did you mean `avx256_fma`?"),
    case("sheet --streams scalar_iadd,avx256_fmaa", USAGE,
        "invalid value 'avx256_fmaa' for '--streams <IDS>': no such stream",
        "did you mean `avx256_fma`?"),
    case("sheet --streams zzz", USAGE,
        "invalid value 'zzz' for '--streams <IDS>': no such stream", "`cpudyno streams`"),
    case("sheet --streams ''", USAGE,
        "invalid value '' for '--streams <IDS>': no such stream", "`cpudyno streams`"),
    case("gate --min memory.triadd=80GB/s", USAGE,
        "invalid value 'memory.triadd=80GB/s' for '--min <NAME=VALUE>': there is no result",
        "did you mean `memory.triad`?"),
    case("gate --max wake.latency=50", USAGE,
        "invalid value 'wake.latency=50' for '--max <NAME=VALUE>': `50` has no unit",
        "such as wake.latency=120ns"),
    case("gate --min turbo.clock=2.4GB/s", USAGE,
        "invalid value 'turbo.clock=2.4GB/s' for '--min <NAME=VALUE>': `GB/s` is no unit of it",
        "units: GHz, MHz"),
    case("gate --min zzz=1s", USAGE,
        "invalid value 'zzz=1s' for '--min <NAME=VALUE>': there is no result `zzz`",
        "areas: turbo, memory"),
    case("gate --min turbo.clock", USAGE,
        "invalid value 'turbo.clock' for '--min <NAME=VALUE>': it has no value",
        "AREA.RESULT=VALUE"),
    case("gate --reference /nowhere/at/all", USAGE,
        "cannot read the folder `/nowhere/at/all`", "cpudyno sheet --json"),
    case("gate --metrics /nowhere/at/all.prom", USAGE,
        "cannot write `/nowhere/at/all.prom`", "a folder that you may write to"),
    case("gate --features /nowhere/at/all", USAGE,
        "cannot write `/nowhere/at/all`", "a folder that you may write to"),
    case("quiet", USAGE,
        "there is no command to run", "cpudyno quiet -- make bench"),
    case("quiet governor=performance", USAGE,
        "there is no command to run", "after two dashes"),
    case("quiet make", USAGE,
        "invalid value 'make' for '[SETTING[@CPUS]=VALUE]...': cannot read `make`",
        "`cpudyno settings`"),
    case("quiet --format csv -- true", USAGE,
        "a command that is watched has no table of samples", "--format json"),
    case("openmp --outer 0", USAGE,
        "invalid value '0' for '--outer <N>': expected a number from 1 to 1000000000",
        "--outer 500000"),
    case("openmp --inner 1", USAGE,
        "invalid value '1' for '--inner <N>': expected a number from 2 to", "--inner 10000"),
    case("pmu kernel loopp", USAGE,
        "invalid value 'loopp' for '<NAME>': no such kernel", "did you mean `loop`?"),
    case("pmu kernel loop --size 1K", USAGE,
        "`loop` has no data whose size could be chosen", "leave out --size"),
    case("pmu kernel empty --sheet", USAGE,
        "`empty` has no data sheet", "cpudyno pmu kernel triad --sheet"),
    case("pmu kernel triad --size 16K,1M", USAGE,
        "several sizes make a data sheet", "add --sheet"),
    case("pmu kernel triad --size soon", USAGE,
        "invalid value 'soon' for '--size <BYTES>': expected a number from 1 to", "32K or 1M"),
    case("pmu kernel loop --iterations 0", USAGE,
        "invalid value '0' for '--iterations <NUMBER>': expected a number from 1 to", "1000000"),
    case("pmu kernel checksum --packets 1000000000000 --size 1G", USAGE,
        "1000000000000 packets of 1073741824 bytes are too many", "--packets 100000"),
    case("pmu kernel triad --sheet --pin 1 --neighbour 1", USAGE,
        "CPU 1 cannot be its own neighbour", "leave out --neighbour"),
    case("pmu kernel loop --dry-run --save-budget b.json", USAGE,
        "the argument '--dry-run' cannot be used with '--save-budget <FILE>'", "`cpudyno pmu kernel --help`"),
    case("pmu kernel loop --metric ipcc", USAGE,
        "invalid value 'ipcc' for '--metric <ID>': no such metric", "did you mean `ipc`?"),
    case("pmu kernel loop --tolerance much", USAGE,
        "invalid value 'much' for '--tolerance <PERCENT>': expected a number from 0 to 1000",
        "--tolerance 10"),
    case("pmu kernel loop --pin one", USAGE,
        "invalid value 'one' for '--pin <CPU>': expected a number from 0 to", "`cpudyno info`"),
    case("pmu kernel loop --format csv", USAGE,
        "counts are no samples for a table of them", "--format json"),
    case("pmu kernel loop --machine sim:4c --event cycels", CANNOT,
        "cannot find event `cycels`", "did you mean `cycles`"),
    case("pmu stat --machine sim:4c -- true", USAGE,
        "a command can be counted on the machine at hand alone", "leave out --machine"),
    case("pmu selftest --machine sim:4c --event bus-cycles", CANNOT,
        "cannot test these events: no answer is known", "`cpudyno pmu selftest`"),
    case("pmu check no-such-budget", USAGE,
        "cannot read budget `no-such-budget`: there is no such file", "--save-budget FILE"),
    case("sheet --cpus 9999", USAGE,
        "cannot use CPU 9999: this process may use ", "choose among --cpus "),
    case("sheet --machine sim:1c --cpus 7", USAGE,
        "cannot use CPU 7: this process may use 0", "choose among --cpus 0"),
    case("sheet --cpus 3-1", USAGE,
        "invalid value '3-1' for '--cpus <LIST>': cannot read `3-1` in CPU list `3-1`: the range",
        "looks like 0-3,8"),
    case("sheet --cpus a", USAGE,
        "invalid value 'a' for '--cpus <LIST>': cannot read `a`", "looks like 0-3,8"),
    case("sheet --cpus 0,,1", USAGE,
        "invalid value '0,,1' for '--cpus <LIST>': cannot read ``", "looks like 0-3,8"),
    case("sheet --cpus 0-4294967295", USAGE,
        "invalid value '0-4294967295' for '--cpus <LIST>': cannot read", "looks like 0-3,8"),
    case("sheet --cpus ''", USAGE,
        "invalid value '' for '--cpus <LIST>': the list names no CPU", "looks like 0-3,8"),
    case("sheet --json no-such-folder/r.json", USAGE,
        "cannot write `no-such-folder/r.json`: there is no such file or folder",
        "name a file in a folder that you may write to"),
    case("sheet --json record.json/r.json", USAGE,
        "cannot write `record.json/r.json`: ", "name a file in a folder"),
    case("sheet --html folder", USAGE,
        "cannot write `folder`: it is a folder", "name a file in a folder"),
    case("show record.json --json folder", USAGE,
        "cannot write `folder`: it is a folder", "name a file in a folder"),
    case("sheet --json no-such-folder/", USAGE,
        "cannot write `no-such-folder/`: there is no such file or folder", "mkdir -p DIR"),
    case("sheet --json record.json/", USAGE,
        "cannot write `record.json/`: ", "mkdir -p DIR"),
    case("sheet --at noon", USAGE,
        "invalid value 'noon' for '--at <TIME>': expected a time of day", "--at 14:30"),
    case("sheet --at 2020-01-01T00:00:00Z", USAGE,
        "cannot begin at 2020-01-01T00:00:00Z: that was ", "--at 14:30"),
    case("sheet --stagger 0", USAGE,
        "invalid value '0' for '--stagger <TIME>': expected a time from 1s to 24h", "--stagger 60s"),
    case("gate --wait-lock long --min memory.triad=1GB/s", USAGE,
        "invalid value 'long' for '--wait-lock <TIME>': expected a time from 1s to 24h", "--wait-lock 60s"),
    case("sheet --json ''", USAGE,
        "a value is required for '--json <FILE>'", "`cpudyno sheet --help`"),
    // Not even root may make files there.
    case("sheet --json /sys/r.json", REFUSED,
        "cannot write `/sys/r.json`: ", "name a file in a folder that you may write to"),
    case("set", USAGE,
        "the following required arguments were not provided", "`cpudyno set --help`"),
    case("set governor", USAGE,
        "invalid value 'governor' for '<SETTING[@CPUS]=VALUE>...': cannot read `governor`: a setting",
        "`cpudyno settings`"),
    case("set governer=performance", USAGE,
        "invalid value 'governer=performance' for '<SETTING[@CPUS]=VALUE>...': cannot set `governer`",
        "did you mean `governor`?"),
    case("set thp=always --machine sim:1c --for 0s", USAGE,
        "invalid value '0s' for '--for <TIME>': expected a time from 1s to 24h", "--for 10m"),
    case("set thp=allways --machine sim:2s-56c", USAGE,
        "cannot set `thp` to `allways`: it takes always, madvise, never, did you mean `always`?",
        "`cpudyno settings`"),
    case("set epb@500=3 --machine sim:2s-56c", CANNOT,
        "cannot set `epb`: there is no CPU 500", "`cpudyno settings`"),
    case("set boost=off --machine sim:2s-56c", CANNOT,
        "cannot set `boost`: there is no `/sys/devices/system/cpu/cpufreq/boost` here",
        "intel_pstate ignores `boost`: write `no_turbo`"),
    case("settings gouvernor", USAGE,
        "invalid value 'gouvernor' for '[SETTING]...': no such setting", "did you mean `governor`?"),
    case("ab", USAGE,
        "there is nothing to measure", "name a command after --, or an area"),
    case("ab --a cpus=9999 -- true", USAGE,
        "cannot use CPU 9999: this process may use", "choose among --a cpus="),
    case("ab --area turbine", USAGE,
        "invalid value 'turbine' for '--area <AREA>': nothing of that name can be compared",
        "did you mean `turbo`?"),
    case("ab --a page=4k --area memory", USAGE,
        "invalid value 'page=4k' for '--a <SETTING=VALUE>': cannot set `page`", "did you mean `pages`?"),
    case("ab --a pages=8k --area memory", USAGE,
        "invalid value 'pages=8k' for '--a <SETTING=VALUE>': `pages` takes 4k", "`cpudyno settings`"),
    case("ab --area turbo --metric colour --machine sim:1c", USAGE,
        "cannot measure `turbo`: there is no quantity `colour`, but clock", "`cpudyno ab --help`"),
    case("ab --a pages=4k --area turbo --machine sim:1c", USAGE,
        "cannot measure `turbo`: `turbo` ignores `pages`; it takes cpus", "`cpudyno ab --help`"),
    case("ab --metric regex:( -- true", USAGE,
        "cannot read the expression `(`", "regex:'"),
    case("ab --band 0 -- true", USAGE,
        "invalid value '0' for '--band <PERCENT>': expected per cent", "--band 2"),
    case("ab --machine sim:1c -- true", CANNOT,
        "cannot measure the command: a simulated machine executes no programs", "--area turbo"),
    case("sheet --machine sim:nope", USAGE,
        "cannot find simulated machine `nope`", "machines: sim:1c, "),
    case("sheet --machine sim:vm2c", USAGE,
        "cannot find simulated machine `vm2c`", "did you mean `sim:vm-2c`?"),
    case("sheet --machine FILE", USAGE,
        "cannot read machine `FILE`: ", "machines: sim:1c, "),
    case("sheet --width 10", USAGE,
        "invalid value '10' for '--width <COLUMNS>': expected a number from 40 to 400", "--width 100"),
    case("sheet --width wide", USAGE,
        "invalid value 'wide' for '--width <COLUMNS>': expected a number from 40 to 400", "--width 100"),
    case("sheet --format yaml", USAGE,
        "invalid value 'yaml' for '--format <FORMAT>': expected one of text, json, csv, markdown, html",
        "`cpudyno sheet --help`"),
    case("sheet --format jsn", USAGE,
        "invalid value 'jsn' for '--format <FORMAT>'", "did you mean `json`?"),
    case("sheet --color sometimes", USAGE,
        "invalid value 'sometimes' for '--color <WHEN>': expected one of auto, always, never",
        "`cpudyno sheet --help`"),
    case("turbo --spec ''", USAGE,
        "invalid value '' for '--spec <SPEC>': expected a stream, a slash and a number of cores",
        "a mix looks like avx256_fma/1,scalar_iadd/3"),
    case("turbo --spec scalar_iadd", USAGE,
        "invalid value 'scalar_iadd' for '--spec <SPEC>': expected a stream, a slash",
        "a mix looks like"),
    case("turbo --spec x/0", USAGE,
        "invalid value 'x/0' for '--spec <SPEC>': no such stream", "`cpudyno streams`"),
    case("turbo --spec avx256_fmaa/1", USAGE,
        "invalid value 'avx256_fmaa/1' for '--spec <SPEC>': no such stream",
        "did you mean `avx256_fma`?"),
    case("turbo --spec scalar_iadd/0", USAGE,
        "invalid value 'scalar_iadd/0' for '--spec <SPEC>': expected a number of cores of at least 1",
        "a mix looks like"),
    case("turbo --spec scalar_iadd/-1", USAGE,
        "invalid value 'scalar_iadd/-1' for '--spec <SPEC>': expected a number of cores",
        "a mix looks like"),
    case("turbo --spec scalar_iadd/999999", USAGE,
        "cannot use 999999 CPUs: there are ", "ask for at most "),
    case("turbo --spec scalar_iadd/1 --test scalar_iadd", USAGE,
        "the argument '--spec <SPEC>' cannot be used with '--test <IDS>'", "`cpudyno turbo --help`"),
    case("turbo --test scalar_iad", USAGE,
        "invalid value 'scalar_iad' for '--test <IDS>': no such stream",
        "did you mean `scalar_iadd`?"),
    case("turbo --test ''", USAGE,
        "invalid value '' for '--test <IDS>': no such stream", "`cpudyno streams`"),
    case("turbo --machine sim:1c --test avx512_fma", CANNOT,
        "cannot measure avx512_fma: the simulated machine `1c` has no cost for it",
        "`cpudyno turbo --list`"),
    case("turbo --machine sim:1c --spec avx512_fma/1", CANNOT,
        "cannot measure avx512_fma: ", "`cpudyno turbo --list`"),
    case("turbo --min-threads 3 --max-threads 1", USAGE,
        "--min-threads 3 is more than --max-threads 1", "the lesser one first"),
    case("turbo --max-threads 0", USAGE,
        "invalid value '0' for '--max-threads <N>': expected a number of at least 1",
        "`cpudyno info`"),
    case("turbo --machine sim:2s-56c --max-threads 999", USAGE,
        "cannot use 999 CPUs: there are 112 to choose from",
        "ask for at most 112; --allow-hyperthreads"),
    case("turbo --num-cpus 0", USAGE,
        "invalid value '0' for '--num-cpus <N>': expected a number of at least 1", "`cpudyno info`"),
    case("turbo --machine sim:2s-56c --num-cpus 999", USAGE,
        "cannot use 999 CPUs: there are 112 to choose from", "ask for at most 112"),
    case("turbo --cpus 5000", USAGE,
        "cannot use CPU 5000: this process may use ", "choose among --cpus "),
    case("turbo --machine sim:2s-56c --duration 10s", USAGE,
        "cannot measure tests: a duration is for one test, and these are ",
        "--test scalar_iadd --min-threads 1 --max-threads 1"),
    case("turbo --sustain 0", USAGE,
        "invalid value '0' for '--sustain <TIME>': expected a time from 1s to", "--sustain 60s"),
    case("turbo --trace scalar_iadd --period 1s", USAGE,
        "invalid value '1s' for '--period <TIME>': expected a time from 0.5 ms to 100 ms",
        "--period 5ms"),
    case("turbo --trace no_such_stream", USAGE,
        "invalid value 'no_such_stream' for '--trace <STREAMS>': no such stream", "streams"),
    case("turbo --why --test scalar_iadd", USAGE,
        "the argument '--why' cannot be used with '--test <IDS>'", "`cpudyno turbo --help`"),
    case("turbo --neighbours --machine sim:4c --no-pin", USAGE,
        "the argument '--neighbours' cannot be used with '--no-pin'", "`cpudyno turbo --help`"),
    case("turbo --neighbours --machine sim:1c --cpus 0", CANNOT,
        "cannot measure neighbours: only one CPU may be used, so it has no neighbours", "--cpus LIST"),
    case("turbo --duration 10s --budget 10s", USAGE,
        "the argument '--duration <TIME>' cannot be used with '--budget <TIME>'",
        "`cpudyno turbo --help`"),
    case("turbo --dirty-upper --dirty-upper16", USAGE,
        "the argument '--dirty-upper' cannot be used with '--dirty-upper16'", "`cpudyno turbo --help`"),
    case("turbo --iters 0", USAGE,
        "invalid value '0' for '--iters <OPS>': expected a number from 1 to", "--iters 100000"),
    case("turbo --order near", USAGE,
        "invalid value 'near' for '--order <ORDER>': expected one of compact, spread, package",
        "`cpudyno turbo --help`"),
    case("turbo --dry-run --format csv", USAGE,
        "what --dry-run prints is no record", "--format markdown"),
    case("turbo --dry-run --html -", USAGE,
        "the argument '--dry-run' cannot be used with '--html <FILE>'", "`cpudyno turbo --help`"),
    case("memory --length 0", USAGE,
        "invalid value '0' for '--length <LENGTH>': expected one element of 8 bytes at least",
        "give elements of 8 bytes (20000000), or bytes with a unit"),
    case("memory --length 7B", USAGE,
        "invalid value '7B' for '--length <LENGTH>': expected one element", "give elements"),
    case("memory --length=-1", USAGE,
        "invalid value '-1' for '--length <LENGTH>': expected a length such as 20000000",
        "give elements"),
    case("memory --length -1", USAGE,
        "invalid value '-1' for '--length <LENGTH>': expected a length such as 20000000",
        "give elements"),
    case("memory --length 18446744073709551616", USAGE,
        "invalid value '18446744073709551616' for '--length <LENGTH>': no machine has so much memory",
        "give elements"),
    case("memory --length 9999999TB", USAGE,
        "invalid value '9999999TB' for '--length <LENGTH>': no machine has so much memory",
        "give elements"),
    case("memory --length 1000TB", USAGE,
        "cannot measure memory of that size: arrays of 125000000000000 elements need ",
        "ask for less: --length "),
    case("memory --machine sim:vm-2c --length 1TiB", USAGE,
        "cannot measure memory of that size: arrays of 137438953472 elements need ",
        "ask for less: --length "),
    case("memory --length soon", USAGE,
        "invalid value 'soon' for '--length <LENGTH>': expected a length", "give elements"),
    case("memory --length 1.5GB", USAGE,
        "invalid value '1.5GB' for '--length <LENGTH>': expected a length", "give elements"),
    case("memory --length ''", USAGE,
        "invalid value '' for '--length <LENGTH>': expected a length", "give elements"),
    case("memory latency --length 129GiB", USAGE,
        "cannot measure arrays of 17314086912 elements: arrays may have 512 to 17179869184 elements",
        "ask for less: --length 17179869184"),
    case("memory sweep --length 129GiB", USAGE,
        "cannot measure arrays of 17314086912 elements: arrays may have 512 to 17179869184 elements",
        "ask for less: --length 17179869184"),
    case("memory --threads 0", USAGE,
        "invalid value '0' for '--threads <N>': expected a number of at least 1", "`cpudyno info`"),
    case("memory --threads 99999", USAGE,
        "cannot use 99999 CPUs: there are ", "ask for at most "),
    case("memory --machine sim:2s-56c --threads 113", USAGE,
        "cannot use 113 CPUs: there are 112 to choose from", "ask for at most 112"),
    case("memory sweep --threads 2", USAGE,
        "cannot measure sweep with `--threads`: one CPU is measured", "leave `--threads` out"),
    case("memory loaded --threads 1 --machine sim:vm-2c", USAGE,
        "cannot measure loaded latency: it needs two CPUs: one follows pointers",
        "use more: --threads 2"),
    case("memory loaded --machine sim:1c", CANNOT,
        "cannot measure loaded latency: it needs two CPUs: one follows pointers",
        "`cpudyno memory latency` needs one CPU"),
    case("memory --kernels tirad", USAGE,
        "invalid value 'tirad' for '--kernels <IDS>': no such kernel", "did you mean `triad`?"),
    case("memory --kernels zzz", USAGE,
        "invalid value 'zzz' for '--kernels <IDS>': no such kernel", "`cpudyno memory --list`"),
    case("memory latency --kernels copy", USAGE,
        "cannot measure latency with `--kernels`: what is measured follows pointers",
        "leave `--kernels` out"),
    case("memory --variant zzz", USAGE,
        "invalid value 'zzz' for '--variant <NAME>': no such variant", "`cpudyno memory --list`"),
    case("memory --variant avx-ntt", USAGE,
        "invalid value 'avx-ntt' for '--variant <NAME>': no such variant", "did you mean `avx-nt`?"),
    case("memory --kernels load --variant avx-nt", USAGE,
        "cannot measure load: it has no variant `avx-nt`", "`cpudyno memory --list`"),
    case("memory --unit TB", USAGE,
        "invalid value 'TB' for '--unit <UNIT>': expected one of MB, GB, MiB, GiB",
        "`cpudyno memory --help`"),
    case("memory --pages 3m", USAGE,
        "invalid value '3m' for '--pages <PAGES>': there are no pages `3m`", "pages are 4k, thp"),
    case("memory --machine sim:vm-2c --pages 1g", CANNOT,
        "cannot measure reserved huge pages: no pages of 1048576 KiB are set aside",
        "hugepages-1048576kB/nr_hugepages"),
    case("memory sweep --factors 0", USAGE,
        "invalid value '0' for '--factors <N>': expected a number from 1 to 64", "--factors 4"),
    case("memory sweep --factors 2 --length 1000", USAGE,
        "cannot measure factors with `--length`", "leave `--length` out"),
    case("memory nmua", USAGE,
        "unrecognized subcommand 'nmua'", "did you mean `numa`?"),
    case("sst --machine sim:vm-2c", CANNOT,
        "cannot read Speed Select: there is no `/dev/isst_interface`: ", "sst --machine sim:guide"),
    case("sst perf-profil info", USAGE,
        "unrecognized subcommand 'perf-profil'", "did you mean `perf-profile`?"),
    case("sst perf-profile inof", USAGE,
        "unrecognized subcommand 'inof'", "did you mean `info`?"),
    case("sst perf-profile info more --machine sim:guide", USAGE,
        "unexpected argument 'more' found", "`cpudyno sst perf-profile info --help`"),
    case("sst -c 60 info --machine sim:guide", USAGE,
        "cannot use CPU 60: online are 0-55", "choose among -c 0-55"),
    case("sst -c 3-1 info --machine sim:guide", USAGE,
        "invalid value '3-1' for '--cpu <LIST>': cannot read `3-1`", "looks like 0-3,8"),
    case("sst -c '' info --machine sim:guide", USAGE,
        "invalid value '' for '--cpu <LIST>': the list names no CPU", "looks like 0-3,8"),
    case("sst core-power get-assoc -c 10 --machine sim:guide", USAGE,
        "invalid value '10' for '-c <LIST>': CPUs are named before the feature", "sst -c LIST"),
    case("sst core-power get-config -c 4 --machine sim:guide", USAGE,
        "invalid value '4' for '--clos <N>': expected a number from 0 to 3", "four classes"),
    case("sst perf-profile info -l all --machine sim:guide", USAGE,
        "invalid value 'all' for '--level <N>': expected a number", "get-config-levels"),
    case("sst perf-profile info -l 5 --machine sim:guide", CANNOT,
        "cannot describe level 5 of package 0: there are levels 0, 1, 2, 3, 4",
        "leave out -l"),
    case("sst base-freq info -l 4 --machine sim:guide", CANNOT,
        "cannot describe base-freq: level 4 does not support it", "name one: -l 0"),
    case("sst turbo-freq info -b 3 --machine sim:guide", CANNOT,
        "cannot describe group 3 of chosen cores: there are groups 0 to 2", "leave out -b"),
    case("sst turbo-freq info -r avx --machine sim:guide", CANNOT,
        "cannot describe limits under `avx`: there is no such licence here", "did you mean `avx2`?"),
    case("sst -f xml info --machine sim:guide", USAGE,
        "invalid value 'xml' for '--format <FORMAT>'", "did you mean `html`?"),
    case("sst -f csv info --machine sim:guide", USAGE,
        "a record without measurements has no samples", "--format json"),
    case("sst -o no-such-folder/x info --machine sim:guide", USAGE,
        "cannot write `no-such-folder/x`: ", "name a file in a folder"),
    case("streams --format json", USAGE,
        "the list of streams is no record", "--format markdown"),
    case("info --machine sim:1c --json x --html x", USAGE,
        "--json and --html name the same file", "name two"),
    case("info --machine sim:1c --json x --html ./x", USAGE,
        "--json and --html name the same file", "name two"),
    case("gate --machine sim:1c --json x --metrics ./x", USAGE,
        "--json and --metrics name the same file", "name two"),
    case("gate --machine sim:1c --features x --metrics ./x", USAGE,
        "--metrics and --features name the same file", "name two"),
    case("gate --machine sim:1c --features -", USAGE,
        "--features writes a file", "/dev/stdout"),
    case("gate --machine sim:1c --metrics -", USAGE,
        "--metrics writes a file", "/dev/stdout"),
    case("compare one.json", USAGE,
        "2 values required by '<FILE> <FILE>...'; only 1 was provided", "`cpudyno compare --help`"),
    case("compare one.json two.json --fail-on slower", USAGE,
        "invalid value 'slower' for '--fail-on <slower:SHARE>': not of the form slower:SHARE",
        "--fail-on slower:5%"),
];

#[rustfmt::skip] // As above.
const FILES: &[Case] = &[
    case("show", USAGE,
        "the following required arguments were not provided: <FILE>", "`cpudyno show --help`"),
    case("show missing.json", USAGE,
        "cannot read `missing.json`: there is no such file or folder", "`cpudyno sheet --json FILE`"),
    case("show folder", USAGE,
        "cannot read `folder`: it is a folder", "`cpudyno sheet --json FILE`"),
    case("show binary", USAGE,
        "cannot read `binary`: it is no text in UTF-8", "`cpudyno sheet --json FILE`"),
    case("show cut.gz", USAGE,
        "cannot read `cut.gz`: it is compressed, and cut off or damaged", "may be cut off"),
    case("show empty.json", USAGE,
        "cannot read `empty.json`: not a record: it is empty", "may be cut off"),
    case("compare record.json missing.json", USAGE,
        "cannot read `missing.json`: there is no such file or folder", "`cpudyno sheet --json FILE`"),
    case("compare - -", USAGE,
        "cannot compare `-` with `-`: standard input can be read once", "--json FILE"),
    case("compare record.json record.json --format csv", USAGE,
        "a comparison has no samples for a table", "--format json"),
    case("show -", USAGE,
        "cannot read `-`: not a record: it is empty", "may be cut off"),
    case("show cut.json", USAGE,
        "cannot read `cut.json`: not a record: it ends too early", "may be cut off"),
    case("show record.txt", USAGE,
        "cannot read `record.txt`: not a record: it is no JSON from line 1, column 1 on", "may be cut off"),
    case("show other.json", USAGE,
        "cannot read `other.json`: not a record: it has no `schema`", "`cpudyno sheet --json"),
    case("show array.json", USAGE,
        "cannot read `array.json`: not a record: it has no `schema`", "`cpudyno sheet --json"),
    case("show foreign.json", USAGE,
        "cannot read `foreign.json`: not a record: its schema is `foreign/1`, expected `cpudyno.",
        "`cpudyno sheet --json FILE`"),
    case("show early.json", USAGE,
        "cannot read `early.json`: the record contradicts itself: the run's length, -5 s", "write it again"),
    case("show newer.json", USAGE,
        "cannot read `newer.json`: its schema is `cpudyno.record/2`, and this version reads `",
        "another version of cpudyno wrote it"),
    case("show incomplete.json", USAGE,
        "cannot read `incomplete.json`: the record breaks its schema: missing field `series`",
        "write it again"),
    case("show wrong.json", USAGE,
        "cannot read `wrong.json`: the record breaks its schema: ", "write it again"),
    case("memory original", USAGE,
        "the following required arguments were not provided: --source <SOURCE>",
        "`cpudyno memory original --help`"),
    case("memory original --source missing.c", USAGE,
        "cannot read `missing.c`: there is no such file or folder", "--source FILE"),
    case("memory original --source folder", USAGE,
        "cannot read `folder`: it is a folder", "--source FILE"),
    case("memory original --source empty.json", USAGE,
        "cannot use `empty.json` as STREAM: it does not mention `STREAM_ARRAY_SIZE`",
        "--source FILE"),
    case("memory original --source other.json", USAGE,
        "cannot use `other.json` as STREAM: it does not mention `STREAM_ARRAY_SIZE`",
        "--source FILE"),
    case("memory original --source stream.c --compiler no-such-compiler", CANNOT,
        "cannot use compiler `no-such-compiler`: there is no such program", "--compiler gcc"),
    case("memory original --source stream.c --compiler false", CANNOT,
        "cannot use compiler `false`: it does not answer `--version`", "--compiler gcc"),
    case("memory original --source stream.c --repetitions 1", USAGE,
        "invalid value '1' for '--repetitions <N>': expected a number from 2 to 100", "--repetitions 10"),
    case("memory original --source stream.c --sha256 12", USAGE,
        "invalid value '12' for '--sha256 <HEX>': cannot read `12` as SHA-256",
        "64 hexadecimal digits"),
    case("memory original --source stream.c --machine sim:1c", CANNOT,
        "cannot measure the original STREAM: STREAM is a compiled program and runs only on this machine",
        "leave `--machine` out"),
];

#[test]
fn wrong_arguments_are_explained() {
    let folder = tempfile::tempdir().unwrap();
    prepare(folder.path());
    for case in ARGUMENTS {
        check(case, folder.path());
    }
}

#[test]
fn files_that_are_no_records_are_explained() {
    let folder = tempfile::tempdir().unwrap();
    prepare(folder.path());
    for case in FILES {
        check(case, folder.path());
    }
}

#[test]
fn names_with_line_breaks_stay_on_one_line() {
    let finished = finish(cpudyno(&["show", "two\nlines\u{1b}[31m"]));
    assert_eq!(finished.code, Some(USAGE));
    let first = finished.stderr.lines().next().unwrap();
    assert!(first.starts_with(r"error: cannot read `two\nlines\u{1b}[31m`: "), "{first}");
    assert_eq!(finished.stderr.lines().count(), 2, "{}", finished.stderr);
}

#[test]
fn help_and_version_are_data() {
    let help = finish(cpudyno(&["--help"])).success();
    assert!(help.contains("Exit codes:"), "{help}");
    let version = finish(cpudyno(&["--version"])).success();
    assert_eq!(version, format!("cpudyno {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn cpudyno_without_a_command_prints_questions_and_fails() {
    for args in [&[][..], &["--machine", "sim:1c"]] {
        let done = finish(cpudyno(args));
        assert_eq!((done.code, done.stderr.as_str()), (Some(USAGE), ""), "{done:?}");
        for answer in ["cpudyno sheet", "cpudyno compare A.json B.json", "cpudyno help --all"] {
            assert!(done.stdout.lines().any(|line| line.ends_with(answer)), "{}", done.stdout);
        }
    }
}

#[test]
fn help_prints_the_help_of_a_command_or_all_commands() {
    let printed = |args: &[&str]| finish(cpudyno(args)).success();
    assert_eq!(printed(&["help"]), printed(&["--help"]));
    assert_eq!(printed(&["help", "sheet"]), printed(&["sheet", "--help"]));
    assert_eq!(printed(&["help", "memory", "sweep"]), printed(&["memory", "sweep", "--help"]));
    let brief = printed(&["-h"]);
    assert!(brief.contains("\n`cpudyno help --all` lists every command\n"), "{brief}");
    assert!(brief.contains("\n  sheet ") && !brief.contains("\n  gate "), "{brief}");
    let all = printed(&["help", "--all"]);
    assert!(all.starts_with("Measure\n  sheet ") && all.contains("\n  gate "), "{all}");
}

/// Files of every kind that is no record.
fn prepare(folder: &Path) {
    let record =
        finish(cpudyno(&["sheet", "--machine", "sim:1c", "--budget", "1s", "--json", "-"]));
    let record = record.success();
    let mut incomplete: serde_json::Value = serde_json::from_str(&record).unwrap();
    let mut wrong = incomplete.clone();
    incomplete.as_object_mut().unwrap().remove("series");
    let mut early = wrong.clone();
    early["run"]["seconds"] = (-5).into();
    wrong["run"]["seconds"] = "many".into();
    fs::create_dir(folder.join("folder")).unwrap();
    let write = |name: &str, bytes: &[u8]| fs::write(folder.join(name), bytes).unwrap();
    write("record.json", record.as_bytes());
    write("empty.json", b"");
    write("record.txt", b"a record\n");
    // Between lines: within a number it would be a number that is cut.
    let half = record[..record.len() / 2].rfind('\n').unwrap();
    write("cut.json", &record.as_bytes()[..half]);
    write("other.json", b"{\"answer\": 42}\n");
    write("array.json", b"[1, 2]\n");
    write("foreign.json", b"{\"schema\": \"foreign/1\"}\n");
    write("newer.json", record.replacen("cpudyno.record/1", "cpudyno.record/2", 1).as_bytes());
    write("incomplete.json", incomplete.to_string().as_bytes());
    write("wrong.json", wrong.to_string().as_bytes());
    write("early.json", early.to_string().as_bytes());
    write("stream.c", include_bytes!("../../../../benchmarks/stream-format/loops.c"));
    write("binary", &[0x7f, b'E', b'L', b'F', 0, 0xff, 0xfe]);
    write("cut.gz", b"\x1f\x8b\x08");
}

fn check(case: &Case, folder: &Path) {
    let Case { args, code, error, hint } = case;
    let words: Vec<&str> =
        args.split_whitespace().map(|word| if word == "''" { "" } else { word }).collect();
    let before = files(folder);
    let mut command = cpudyno(&words);
    command.current_dir(folder);
    let finished = finish(command);
    let context = format!("cpudyno {args}\n{finished:#?}");
    assert_eq!(finished.code, Some(*code), "{context}");
    assert_eq!(finished.stdout, "", "{context}");
    let lines: Vec<&str> = finished.stderr.lines().collect();
    let [first, second] = lines[..] else { panic!("not two lines: {context}") };
    let first = first.strip_prefix("error: ").expect(&context);
    assert!(first.starts_with(error), "expected: {error}\n{context}");
    let second = second.strip_prefix("hint: ").expect(&context);
    assert!(second.contains(hint), "expected: {hint}\n{context}");
    assert_eq!(files(folder), before, "{context}");
}

fn files(folder: &Path) -> BTreeSet<PathBuf> {
    fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect()
}

/// What follows the error tells what the command takes, not what the program does.
#[test]
fn hints_name_the_help_of_the_command() {
    for (args, hint) in [
        (&["compare"][..], "`cpudyno compare --help`"),
        (&["memory", "original"], "`cpudyno memory original --help`"),
        (&["show"], "`cpudyno show --help`"),
    ] {
        let done = finish(cpudyno(args));
        assert_eq!(done.code, Some(2), "{done:?}");
        assert!(done.stderr.contains(hint), "{args:?}: {}", done.stderr);
    }
    let timer = finish(cpudyno(&["wake", "timer", "--pairs", "0:1"]));
    assert!(timer.stderr.contains("leave it out"), "{}", timer.stderr);
}

/// Options that a command refuses stand in the help of others.
#[test]
fn help_lists_what_a_command_takes() {
    for (args, absent, present) in [
        (&["show"][..], "--machine", "--width"),
        (&["compare"], "--root", "--fail-on"),
        (&["wake", "timer"], "--pairs", "--cpus"),
        (&["memory", "latency"], "--variant", "--length"),
    ] {
        let help = finish(cpudyno(&[args, &["--help"]].concat())).success();
        assert!(!help.contains(absent) && help.contains(present), "{args:?}\n{help}");
    }
}

#[test]
fn one_cpu_that_was_asked_for_has_no_pair() {
    let done = finish(cpudyno(&["cores", "--machine", "sim:4c", "--cpus", "0"]));
    assert_eq!(done.code, Some(2), "{done:?}");
    assert!(done.stderr.contains("a pair needs two"), "{}", done.stderr);
}

/// As `top -i 1` takes it.
#[test]
fn a_bare_number_is_seconds() {
    let args = ["sheet", "--machine", "sim:1c", "--budget", "5", "--dry-run"];
    finish(cpudyno(&args)).success();
}
