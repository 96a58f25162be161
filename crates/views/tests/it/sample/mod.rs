//! A page with every block, and a record with every form of samples.

use model::page::{
    Align, Bar, Bars, Block, HeatCell, HeatMap, HeatRow, Lines, Mark, Outline, Page, Remark, Ruled,
    Scale, Table, Text, Tone,
};
use model::record::{
    CalibratedRate, CpuPlace, Disturbance, Fact, FactValue, Instrument, InstrumentState, Machine,
    Outcome, Plan, PlannedWorkload, Presentation, RateSource, Record, Run, Samples, Series, Tool,
    Topology,
};
use model::{CpuId, CpuSet, Finding, Hertz, Known, Obstacle, Unavailable, Unit};

pub(crate) fn page() -> Page {
    let text = |text: &str| Text::from(text);
    Page {
        blocks: vec![
            Block::Title {
                text: "cpudyno sheet: SIMULATED guide".into(),
                subtitle: "2026-03-01 12:00 UTC, 30 s, 4 cores".into(),
            },
            Block::Box(vec![
                ("CPU".into(), text("Intel(R) Xeon(R) \x1b[31mPlatinum 8168 CPU @ 2.70GHz")),
                ("topology".into(), text("1 package, 4 cores, 8 CPUs (2 threads per core)")),
                (
                    "governor".into(),
                    Text::toned(
                        "powersave on CPUs 0-3, performance on CPUs 4-7: clocks of the two groups \
                         are not comparable",
                        Tone::Warning,
                    ),
                ),
            ]),
            Block::Heading("Turbo".into()),
            Block::Paragraph(text(
                "With one core active the clock is 3.702 GHz; with all four and AVX-512 it falls \
                 to 2.893 GHz. The interval is the spread between blocks over the whole run.",
            )),
            Block::Table(clocks()),
            Block::Table(wide()),
            Block::Ruled(classic()),
            Block::HeatMap(clock_map()),
            Block::HeatMap(flat_map()),
            Block::HeatMap(core_map()),
            Block::Bars(bars()),
            Block::Lines(few_lines()),
            Block::Lines(long_line()),
            Block::Heading("Remarks".into()),
            Block::Remarks(remarks()),
            Block::Fold { title: "More, `as code`".to_owned(), open: false },
            Block::List(vec![
                text(
                    "Measured: turbo. Left out for want of time: memory, which needs 12 s more \
                      than the budget of 30 s leaves.",
                ),
                Text::toned("`cpudyno explain clock` says how clocks are measured", Tone::Faint),
            ]),
        ],
    }
}

fn remarks() -> Vec<Remark> {
    vec![
        Remark {
            mark: Text::toned("warning", Tone::Warning),
            about: "CPU 3".into(),
            text: "the sibling was busy in 3 of 12 blocks; those blocks are not in the numbers \
                   above, which rest on the other 9"
                .into(),
            remedy: Some("stop what runs on CPU 7, or choose cores with `--cpus 0-2`".into()),
        },
        Remark {
            mark: Text::toned("not measured", Tone::Faint),
            about: "package power".into(),
            text: "cannot open `/dev/cpu/0/msr`: permission denied".into(),
            remedy: Some("run as root, after `modprobe msr`".into()),
        },
        Remark {
            mark: Text::toned("serious", Tone::Serious),
            about: String::new(),
            text: "the clock was changed during the run".into(),
            remedy: None,
        },
    ]
}

fn clocks() -> Table {
    let row = |workload: &str, one: &str, four: &str, change: &str, tone| {
        vec![workload.into(), one.into(), four.into(), Text::toned(change, tone)]
    };
    Table::of("Core clock in GHz, median ± half the spread between blocks; higher is better")
        .left("workload")
        .right("1 core")
        .right("4 cores")
        .right("change")
        .rows([
            row("scalar", "3.702 ± 0.1 %", "3.401 ± 0.2 %", "-8.1 %", Tone::Plain),
            row("avx256_fma", "3.498 ± 0.1 %", "3.102 ± 0.3 %", "-11.3 %", Tone::Warning),
            row("avx512_fma", "3.301 ± 0.2 %", "2.893 ± 1.9 % !", "-12.4 %", Tone::Serious),
            vec![
                Text::toned("amx_int8", Tone::Faint),
                Text::toned("no such unit", Tone::Faint),
                Text::toned("no such unit", Tone::Faint),
                Text::default(),
            ],
        ])
        .notes(["! the spread is larger than 1 %: see the remarks"])
}

fn wide() -> Table {
    let names = ["scalar", "sse", "avx128", "avx256_light", "avx256_fma", "avx512_light"];
    let row = |from: u32| {
        let cells = (0..6).map(|to| Text::from(format!("{}.{} us ± 3 %", 9 + from, to + from)));
        std::iter::once(Text::toned(names[from as usize], Tone::Strong)).chain(cells).collect()
    };
    Table::of("Time to change from row to column")
        .left("from")
        .columns(names.map(|name| (name, Align::Right)))
        .rows((0..3).map(row))
}

fn classic() -> Ruled {
    let row = |cells: [&str; 10]| cells.map(Text::from).into();
    let right = |header: &str| (header.to_owned(), Align::Right);
    Ruled {
        caption: "Speeds and clocks; Mops higher is better".into(),
        columns: vec![
            ("Cores".into(), Align::Left),
            ("ID".into(), Align::Left),
            ("Description".into(), Align::Left),
            right("OVRLP"),
            right("Mops"),
            right("A/M-ratio"),
            right("A/M-MHz"),
            right("Avg-MHz"),
            right("Cycles/op"),
            ("MHz (chain)".into(), Align::Left),
        ],
        optional: vec![2, 7, 3],
        parts: vec![
            vec![
                row([
                    "1",
                    "scalar_iadd",
                    "Scalar integer adds",
                    "1.000",
                    "5100",
                    "1.46",
                    "5106",
                    "5106",
                    "1.000",
                    "5090 - 5110",
                ]),
                row([
                    "1",
                    "avx512_vpermd_t",
                    "512-bit permutes: a|b",
                    "1.000",
                    "4700",
                    "1.34",
                    "4702",
                    "4701",
                    "1.000",
                    "4690 - 4702",
                ]),
            ],
            vec![row([
                "2",
                "scalar_iadd",
                "Scalar integer adds",
                "0.998",
                "5100, 5099",
                "1.46, 1.46",
                "5106, 5106",
                "5106, 5106",
                "1.000",
                "5090 - 5110",
            ])],
        ],
        legend: Vec::new(),
        notes: vec!["A/M: actual over nominal clock".into()],
    }
}

fn heat_cell(value: f64) -> HeatCell {
    HeatCell::Value { value, text: format!("{value:.0}") }
}

fn clock_map() -> HeatMap {
    let cores: [u32; 9] = [1, 2, 3, 4, 6, 8, 12, 16, 24];
    let row = |label: &str, top: f64, step: f64| {
        let cell = |&cores: &u32| match cores {
            24 if step > 20.0 => HeatCell::Absent(Text::toned("contended", Tone::Faint)),
            _ => heat_cell(top - step * f64::from(cores)),
        };
        HeatRow { label: label.into(), cells: cores.iter().map(cell).collect() }
    };
    HeatMap {
        caption: "Core clock in MHz, median; higher is better".into(),
        unit: "MHz".into(),
        row_title: "stream".into(),
        column_title: "active cores".into(),
        columns: cores.iter().map(ToString::to_string).collect(),
        groups: vec![
            vec![row("scalar_iadd", 3702.0, 8.0), row("sse_fma", 3698.0, 9.0)],
            vec![row("avx256_fma_dense", 3500.0, 16.0)],
            vec![row("avx512_vnni", 3300.0, 25.0), row("avx512_fma_dense", 3200.0, 40.0)],
        ],
        legend: Vec::new(),
        notes: vec!["contended: a sibling ran something else in every block".into()],
        shaded_from: None,
        outline: Some(Outline {
            meaning: "as promised within 1 %".into(),
            cells: [(0, 0), (2, 1)].into(),
        }),
    }
}

fn flat_map() -> HeatMap {
    let row = |label: &str, cells: [f64; 2]| HeatRow {
        label: label.into(),
        cells: cells.map(heat_cell).into(),
    };
    HeatMap {
        caption: "Core clock in MHz without turbo".into(),
        columns: vec!["1".into(), "24".into()],
        groups: vec![vec![row("scalar_iadd", [2700.0, 2698.0]), row("sse_fma", [2700.0, 2699.0])]],
        legend: Vec::new(),
        notes: vec![],
        ..clock_map()
    }
}

/// Too wide for numbers.
fn core_map() -> HeatMap {
    let row = |from: u32| {
        let cell = |to: u32| match (from, to) {
            (1, 0) => HeatCell::Absent("denied".into()),
            _ if from == to => HeatCell::Absent("-".into()),
            _ => heat_cell(20.0 + f64::from(from.abs_diff(to))),
        };
        HeatRow { label: format!("CPU {from}"), cells: (0..130).map(cell).collect() }
    };
    HeatMap {
        caption: "One way between two cores in ns, median; lower is better".into(),
        unit: "ns".into(),
        row_title: "from".into(),
        column_title: "to CPU".into(),
        columns: (0..130).map(|cpu| cpu.to_string()).collect(),
        groups: vec![(0..3).map(row).collect()],
        legend: Vec::new(),
        notes: vec![],
        shaded_from: None,
        outline: None,
    }
}

fn bars() -> Bars {
    let part = |label: &str, from, value, text: &str| Bar {
        label: label.into(),
        from,
        value,
        text: text.into(),
    };
    let bar = |label: &str, value, text: &str| part(label, 0.0, value, text);
    Bars {
        caption: "Wake latency, median; lower is better".into(),
        bars: vec![
            bar("spin", 0.12, "120 ns"),
            bar("futex", 4.9, "4.900 us"),
            bar("futex, deep idle (C6)", 61.3, "61.30 us"),
            part("of it: C6 alone", 61.3, 20.0, "41.30 us"),
            bar("nothing", 0.0, "0 s"),
        ],
    }
}

fn few_lines() -> Lines {
    let line = |name: &str, clocks: [f64; 4]| {
        let points = clocks.iter().enumerate().map(|(index, clock)| ((index + 1) as f64, *clock));
        (name.to_owned(), points.collect())
    };
    Lines {
        caption: "Core clock over active cores".into(),
        x: "active cores".into(),
        y: "clock in GHz".into(),
        x_scale: Scale::Linear,
        y_scale: Scale::Linear,
        reach: None,
        lines: vec![
            line("scalar", [3.702, 3.702, 3.501, 3.401]),
            line("avx256_fma", [3.498, 3.45, 3.2, 3.102]),
            line("avx512_fma", [3.301, 3.2, 3.0, 2.893]),
        ],
        marks: vec![Mark { at: 2.0, text: "half of the cores: 2".into() }],
    }
}

fn long_line() -> Lines {
    let points =
        (0..200).map(|i| (f64::from(i) / 10.0, 40.0 + 30.0 * (f64::from(i) / 20.0).tanh()));
    Lines {
        caption: "Latency over working set".into(),
        x: "MiB".into(),
        y: "ns".into(),
        x_scale: Scale::Linear,
        y_scale: Scale::Linear,
        reach: None,
        lines: vec![("chase".into(), points.collect())],
        marks: Vec::new(),
    }
}

fn series(workload: &str, outcome: Outcome) -> Series {
    Series {
        area: "turbo".into(),
        workload: workload.into(),
        quantity: "clock".into(),
        unit: Unit::Hertz,
        parameters: [("data".into(), "quiet".into()), ("n".into(), "2".into())].into(),
        cpu: CpuId(1),
        active: cpus("0-1,3"),
        placement_class: Some("same tile".into()),
        outcome,
        fixed_cost: None,
        disturbance: Disturbance { migrations: 1, ..Disturbance::default() },
    }
}

fn measured(samples: Samples) -> Outcome {
    let summary = samples.summary().expect("there are samples");
    Outcome::Measured { samples, summary }
}

fn cpus(list: &str) -> CpuSet {
    list.parse().expect("a CPU list")
}

fn denied() -> Unavailable {
    Unavailable::new(Obstacle::Permission, "the clock", "`perf_event_open`:\npermission denied")
        .with_remedy("run as root")
}

pub(crate) fn record() -> Record {
    // The sums of tenths are no tenths: they show whether digits get lost.
    let plain = Samples::Plain(vec![vec![2.6e9, 0.1 + 0.2], vec![], vec![2.593_411e9]]);
    let packed = Samples::Plain(vec![vec![1.0, 1.0, 1.5], vec![2.0]]).packed(0.25);
    Record {
        tool: Tool {
            name: "cpudyno".into(),
            version: "[VERSION]".into(),
            target: "x86_64-linux".into(),
        },
        instruments: instruments(),
        series: vec![
            series("scalar", measured(plain)),
            series("avx256_fma", measured(packed)),
            series("avx512_fma", Outcome::Unavailable { unavailable: denied() }),
        ],
        findings: vec![Finding::warning("ruler.sibling-busy", "CPU 1", "the sibling was busy")],
        ..Record::new(run(), machine())
    }
}

fn run() -> Run {
    Run {
        id: "5eed".into(),
        started: "2026-03-01T12:00:00Z".into(),
        seconds: 30.25,
        command: vec!["sheet".into(), "--budget".into(), "30".into()],
        simulated: Some("guide".into()),
        elsewhere: None,
        interrupted: None,
        events: Vec::new(),
        plan: Plan {
            budget_seconds: 30.0,
            cpus: cpus("0-3"),
            placement: "one CPU per core".into(),
            workloads: vec![workload("scalar", None), workload("avx256_fma", Some(256))],
            active_cores: vec![1, 2, 4],
            blocks_planned: 12,
            blocks_done: 12,
            seed: u64::MAX,
            ..Plan::nothing()
        },
        presentation: Presentation {
            width: 80,
            ..Presentation::of(model::record::PageKind::Sheet)
        },
    }
}

fn machine() -> Machine {
    let fact = |id: &str, value| Fact { id: id.into(), label: id.into(), value };
    Machine {
        facts: vec![
            fact("cpu.brand", Known::Yes(FactValue::Text("Xeon \x1b[31m".into()))),
            fact("memory.size", Known::Yes(FactValue::Number { value: 1e11, unit: Unit::Byte })),
            fact("cpu.microcode", Known::No { unavailable: denied() }),
        ],
        topology: Topology {
            online: cpus("0-3"),
            usable: cpus("0-3"),
            cpus: vec![CpuPlace {
                cpu: CpuId(0),
                package: 0,
                core: 0,
                siblings: cpus("0"),
                last_level_cache: cpus("0-3"),
                node: None,
                die: None,
                module: None,
                kind: None,
            }],
            ..Topology::default()
        },
        ..Machine::default()
    }
}

fn instruments() -> Vec<Instrument> {
    vec![Instrument {
        id: "tsc".into(),
        source: "rdtsc".into(),
        measures: "time".into(),
        state: InstrumentState::Used {
            unit: Unit::Second,
            resolution: 7.4e-10,
            own_cost_seconds: 9.3e-9,
            rate: Some(CalibratedRate {
                hertz: Hertz(2.7e9),
                chosen: "cpuid".into(),
                sources: vec![RateSource {
                    source: "kernel".into(),
                    hertz: Known::Yes(2.693_999e9),
                    disagreement_ppm: Some(-2.2),
                    independent: true,
                }],
            }),
        },
    }]
}

fn workload(id: &str, width_bits: Option<u32>) -> PlannedWorkload {
    PlannedWorkload {
        licence: None,
        id: id.to_owned(),
        title: format!("sample of {id}"),
        kind: "latency".to_owned(),
        width_bits,
        mnemonic: None,
        ops_per_iteration: 100,
        datatype: None,
        operations_per_op: None,
    }
}
