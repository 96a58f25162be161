//! What the simulated driver answers, word by word, and what the firmware makes of what is set.
//!
//! # Source
//! The answers of the guide's system are those that the user guide of intel-speed-select shows, packed as
//! the tool unpacks them.

use sys::errno::{EBUSY, EINVAL, ENOTTY, ENXIO, EPERM, ETIMEDOUT};
use sys::isst::REQUESTS;
use sys::isst::layout::Layout;
use sys::isst::structures::*;

use super::SimulatedIsst;
use crate::Model;
use crate::sysfs::SimulatedTree;

/// A driver, asked in bytes.
struct Driver {
    model: Model,
    isst: SimulatedIsst,
}

impl Driver {
    fn of(name: &str) -> Driver {
        Driver::with(Model::named(name).unwrap())
    }

    fn with(model: Model) -> Driver {
        Driver { isst: SimulatedIsst::new(&model), model }
    }

    /// The guide's system with a fault, or another change of its description.
    fn changed(change: impl FnOnce(&str) -> String) -> Driver {
        let text = change(include_str!("../machines/guide.toml"));
        Driver::with(Model::parse("x.toml", &text).unwrap())
    }

    fn single<T: Layout>(&self, number: u8, content: &T) -> Result<T, i32> {
        let request = REQUESTS[usize::from(number)];
        let mut argument = vec![0; request.header_bytes];
        content.to_bytes(&mut argument);
        self.isst.call(request, &mut argument)?;
        Ok(T::from_bytes(&argument))
    }

    fn list<T: Layout>(&self, number: u8, entries: &[T]) -> Result<Vec<T>, i32> {
        let request = REQUESTS[usize::from(number)];
        let mut argument = vec![0; request.header_bytes];
        argument[0] = entries.len() as u8;
        for entry in entries {
            let mut bytes = vec![0; request.entry_bytes];
            entry.to_bytes(&mut bytes);
            argument.extend(bytes);
        }
        let done = self.isst.call(request, &mut argument)?;
        let entries = argument[request.header_bytes..].chunks_exact(request.entry_bytes);
        Ok(entries.take(done as usize).map(T::from_bytes).collect())
    }

    /// A command to the mailbox of a CPU.
    fn command(&self, cpu: u32, words: (u16, u16, u32, u32)) -> Result<u32, i32> {
        let (command, sub_command, parameter, request) = words;
        let command = MailboxCommand { cpu, parameter, request, response: 0, command, sub_command };
        self.list(3, &[command]).map(|answers| answers[0].response)
    }

    fn ask(&self, command: u16, sub_command: u16, request: u32) -> Result<u32, i32> {
        self.command(0, (command, sub_command, 0, request))
    }

    fn mmio(&self, write: u32, cpu: u32, register: u32, value: u32) -> Result<u32, i32> {
        let answers = self.list(2, &[MmioCommand { write, cpu, register, value }])?;
        Ok(answers[0].value)
    }

    fn msr(&self, write: u32, cpu: u32, msr: u64, data: u64) -> Result<u64, i32> {
        let answers = self.list(4, &[MsrCommand { write, cpu, msr, data }])?;
        Ok(answers[0].data)
    }

    fn base_khz(&self, cpu: u32) -> String {
        let path = format!("/sys/devices/system/cpu/cpu{cpu}/cpufreq/base_frequency");
        SimulatedTree::new(&self.model).read(&path).unwrap()
    }
}

#[test]
fn the_guides_system_answers_as_the_guide_says() {
    let guide = Driver::of("guide");
    for (sub, request, response) in [
        (0x00, 0, 0x8000_0401),
        (0x01, 0, 0x0000_0003),
        (0x01, 4, 0x0000_0001),
        (0x03, 0, 0x001a_00cd),
        (0x04, 0, 0x0064_012c),
        (0x05, 0, 0x0000_0063),
        (0x06, 0, 0x0000_3fff),
        (0x06, 0x100, 0),
        (0x06, 4, 0x0000_0faf),
        (0x07, 0, 0x1f1f_1f20),
        (0x07, 0x100, 0x1f1f_1f1f),
        (0x09, 0, 0x0000_0e18),
        (0x0a, 0, 0x0015_181a),
        (0x0b, 0, 0x0000_0001),
        (0x0c, 0x10000, 0x0800_0e18),
        (0x10, 0, 0x0006_0402),
        (0x10, 0x100, 0),
        (0x11, 0, 0x001f_1f20),
        // The guide's frequencies under AVX2 and AVX-512: 3200 and 3000, 3100 and 2900 MHz.
        (0x11, 0x10000, 0x001e_1e20),
        (0x11, 0x20000, 0x001d_1d1f),
        (0x12, 0, 0x0015_181a),
        (0x20, 0, 0x0000_2160),
        (0x21, 0, 0x0000_1e18),
        (0x22, 0, 0x7d),
        (0x23, 0, 0xcd),
    ] {
        assert_eq!(guide.ask(0x7f, sub, request), Ok(response), "7f/{sub:02x} ({request:x}h)");
    }
    assert_eq!(guide.ask(0x94, 0x03, 0), Ok(1));
    assert_eq!(guide.ask(0xd0, 0x02, 0), Ok(0));
    assert_eq!(guide.msr(0, 0, 0x1ae, 0), Ok(0x100e_0c0a_0806_0402));
    assert_eq!(guide.msr(0, 0, 0x1ad, 0), Ok(0x1f1f_1f1f_1f1f_1f20));
    assert_eq!(guide.msr(0, 0, 0x64b, 0), Ok(0));
    let cpus = [0, 13, 14, 28, 41, 55].map(|logical| CpuMap { logical, physical: 0 });
    let physical: Vec<u32> =
        guide.list(1, &cpus).unwrap().iter().map(|answer| answer.physical).collect();
    assert_eq!(physical, [0, 26, 0, 1, 27, 27]);
    let info = guide.single(0, &PlatformInfo::default()).unwrap();
    assert_eq!((info.api_version, info.commands_max, info.mailbox, info.mmio), (1, 64, 1, 1));
    assert_eq!(guide.base_khz(0), "2600000");
}

#[test]
fn what_the_tool_writes_is_kept() {
    let guide = Driver::of("guide");
    // `base-freq enable -a`, in its order.
    for (register, word) in
        [(0x08, 0x00ff_1e00), (0x0c, 0x00ff_18ff), (0x10, 0x00ff_18ff), (0x14, 0x00ff_18ff)]
    {
        guide.mmio(1, 0, register, word).unwrap();
        assert_eq!(guide.mmio(0, 13, register, 0), Ok(word));
        assert_eq!(guide.mmio(0, 14, register, 0), Ok(0x00ff_0000), "the other package");
    }
    for core in 0..14 {
        let class = if [5, 6, 8, 13].contains(&core) { 0 } else { 0x30000 };
        guide.mmio(1, 0, 0x20 + 4 * core, class).unwrap();
        assert_eq!(guide.mmio(0, 28, 0x20 + 4 * core, 0), Ok(class));
        // The same by the mailbox, where CPUs have no registers in memory.
        assert_eq!(guide.command(0, (0xd0, 0x00, core, 0)), Ok(class));
    }
    guide.ask(0x95, 0x03, 1 << 16).unwrap();
    guide.command(0, (0xd0, 0x02, 0x100, 6)).unwrap();
    guide.ask(0x7f, 0x02, 1 << 17).unwrap();
    assert_eq!(guide.ask(0x94, 0x03, 0), Ok(0x10001));
    assert_eq!(guide.ask(0xd0, 0x02, 0), Ok(6));
    assert_eq!(guide.ask(0x7f, 0x01, 0), Ok(0x0002_0003));
    assert_eq!(guide.base_khz(5), "3000000");
    assert_eq!(guide.base_khz(33), "3000000");
    assert_eq!(guide.base_khz(4), "2400000");
    assert_eq!(guide.base_khz(19), "2600000", "the other package");
    // `core-power config -c 1 -n 2000 -m 3000 -w 5 -e 2`, `assoc`, and software's own turbo limits.
    guide.command(0, (0xd0, 0x01, 0x101, 0x001e_1452)).unwrap();
    assert_eq!(guide.mmio(0, 0, 0x0c, 0), Ok(0x001e_1452));
    guide.msr(1, 12, 0x1ad, u64::MAX).unwrap();
    assert_eq!(guide.msr(0, 0, 0x1ad, 0), Ok(u64::MAX));
}

#[test]
fn a_new_level_switches_features_off_and_moves_the_base() {
    let guide = Driver::of("guide");
    guide.ask(0x7f, 0x02, 3 << 16).unwrap();
    assert_eq!(guide.ask(0x7f, 0x01, 0), Ok(0x0003_0003));
    guide.ask(0x7f, 0x08, 4).unwrap();
    assert_eq!(guide.ask(0x7f, 0x00, 0), Ok(0x8004_0401));
    assert_eq!(guide.base_khz(0), "2800000");
    assert_eq!(guide.base_khz(14), "2600000");
    // What the level does not support cannot be switched on, and what there is not cannot be chosen.
    assert_eq!(guide.ask(0x7f, 0x02, 1 << 17), Err(ENXIO));
    assert_eq!(guide.ask(0x7f, 0x02, 1 << 16), Ok(0));
    assert_eq!(guide.ask(0x7f, 0x01, 4), Ok(0x0001_0001));
    assert_eq!(guide.ask(0x7f, 0x08, 5), Err(ENXIO));
    guide.ask(0x7f, 0x08, 0).unwrap();
    assert_eq!(guide.ask(0x7f, 0x01, 0), Ok(3));
    let locked = Driver::of("sapphire-locked");
    assert_eq!(locked.ask(0x7f, 0x00, 0), Ok(0x0100_0002));
    assert_eq!(locked.ask(0x7f, 0x08, 0), Err(ENXIO));
    assert_eq!(locked.msr(0, 0, 0x64b, 0), Ok(1 << 31));
}

#[test]
fn the_driver_refuses_what_the_kernels_does() {
    let guide = Driver::of("guide");
    assert_eq!(guide.ask(0x7f, 0x0d, 0), Err(EINVAL));
    assert_eq!(guide.ask(0x90, 0x00, 0), Err(EINVAL));
    assert_eq!(guide.ask(0x7f, 0x03, 7), Err(ENXIO));
    assert_eq!(guide.command(56, (0x7f, 0, 0, 0)), Err(EINVAL));
    assert_eq!(guide.mmio(0, 0, 0x00, 0), Err(EINVAL));
    assert_eq!(guide.mmio(0, 0, 0x0a, 0), Err(EINVAL));
    assert_eq!(guide.mmio(0, 0, 0xd0, 0), Ok(0));
    assert_eq!(guide.mmio(0, 0, 0xd4, 0), Err(EINVAL));
    assert_eq!(Driver::of("sapphire").mmio(0, 0, 0x11c, 0), Ok(0));
    assert_eq!(guide.msr(0, 0, 0x10, 0), Err(EINVAL));
    assert_eq!(guide.list::<CpuMap>(1, &[]), Err(EINVAL));
    assert_eq!(guide.list(1, &[CpuMap::default(); 65]), Err(EINVAL));
    assert_eq!(guide.single(9, &PerfLevels::default()), Err(ENOTTY));
    let granite = Driver::of("granite");
    assert_eq!(granite.ask(0x7f, 0x00, 0), Err(ENOTTY));
    assert_eq!(granite.mmio(0, 0, 0x08, 0), Err(ENOTTY));
    let skylake = Driver::changed(|text| text.replace("model = 106", "model = 85"));
    assert_eq!(skylake.mmio(0, 0, 0x08, 0), Err(ENOTTY));
    assert_eq!(skylake.command(0, (0xd0, 0x01, 0, 0)), Ok(0x00ff_0000));
    let none = Driver::changed(|text| text.replace("interface = 1", "interface = 0"));
    assert_eq!(none.single(0, &PlatformInfo::default()).unwrap().api_version, 0);
    assert_eq!(none.msr(0, 0, 0x1ad, 0), Err(ENOTTY));
}

/// A batch ends at the first that fails, and says how far it came.
#[test]
fn batches_may_end_early() {
    let guide = Driver::of("guide");
    let about = |sub_command, request| MailboxCommand {
        command: 0x7f,
        sub_command,
        request,
        ..MailboxCommand::default()
    };
    let some = [about(0x00, 0), about(0x05, 0), about(0x20, 4), about(0x05, 0)];
    let answers = guide.list(3, &some).unwrap();
    assert_eq!(answers.iter().map(|it| it.response).collect::<Vec<_>>(), [0x8000_0401, 99]);
    assert_eq!(guide.list(3, &some[2..]), Err(ENXIO));
}

#[test]
fn faults_come_when_and_as_often_as_they_are_described() {
    let fault = |text: &str, fault: &str| format!("{text}\n[[speed_select.fault]]\n{fault}\n");
    let busy = Driver::changed(|text| fault(text, "on = \"7f/05\"\ndoes = \"busy\"\ntimes = 2"));
    assert_eq!(busy.ask(0x7f, 0x04, 0), Ok(0x0064_012c));
    let twice = [busy.ask(0x7f, 0x05, 0), busy.ask(0x7f, 0x05, 0), busy.ask(0x7f, 0x05, 0)];
    assert_eq!(twice, [Err(EBUSY), Err(EBUSY), Ok(99)]);
    let late =
        Driver::changed(|text| fault(text, "on = \"mmio\"\ndoes = \"times-out\"\nafter = 1"));
    assert_eq!(late.mmio(0, 0, 0x08, 0), Ok(0x00ff_0000));
    assert_eq!(late.mmio(0, 0, 0x08, 0), Err(ETIMEDOUT));
    let loose = Driver::changed(|text| {
        let text = fault(text, "on = \"7f/08\"\ndoes = \"does-not-stick\"");
        fault(&text, "on = \"mmio\"\ndoes = \"does-not-stick\"")
    });
    assert_eq!(loose.ask(0x7f, 0x08, 4), Ok(0));
    assert_eq!(loose.ask(0x7f, 0x00, 0), Ok(0x8000_0401));
    loose.mmio(1, 0, 0x08, 1).unwrap();
    assert_eq!(loose.mmio(0, 0, 0x08, 0), Ok(0x00ff_0000));
}

#[test]
fn nothing_that_is_set_sticks_where_that_is_the_fault() {
    let with = |name: &str, on: &str| {
        let text = match name {
            "guide" => include_str!("../machines/guide.toml"),
            _ => include_str!("../machines/granite.toml"),
        };
        let fault = format!("\n[[speed_select.fault]]\non = \"{on}\"\ndoes = \"does-not-stick\"\n");
        Driver::with(Model::parse("x.toml", &format!("{text}{fault}")).unwrap())
    };
    let guide = with("guide", "msr");
    let before = guide.msr(0, 0, 0x1ad, 0).unwrap();
    guide.msr(1, 0, 0x1ad, u64::MAX).unwrap();
    assert_eq!(guide.msr(0, 0, 0x1ad, 0), Ok(before));
    let granite = with("granite", "tpmi/7");
    let class =
        |set, min_mhz| ClosParam { set, clos: 1, min_mhz, max_mhz: 25500, ..Default::default() };
    granite.single(7, &class(1, 1500)).unwrap();
    assert_eq!(granite.single(7, &class(0, 0)).unwrap().min_mhz, 0);
    let granite = with("granite", "tpmi/10");
    let level = PerfSetLevel { socket: 0, domain: 0, level: 1 };
    assert_eq!(granite.single(10, &level), Err(ENOTTY), "the driver waits for it in vain");
    let granite = with("granite", "tpmi/8");
    assert_eq!(associate(&granite, 1, 3), Ok(3));
    assert_eq!(associate(&granite, 0, 0), Ok(0));
    assert_eq!(associate(&Driver::of("granite"), 0, 0), Ok(0));
}

/// The class of core 2 in the first domain, set or asked for.
fn associate(driver: &Driver, set: u16, clos: u16) -> Result<u16, i32> {
    let request = REQUESTS[8];
    let mut argument = vec![0; request.header_bytes + request.entry_bytes];
    ClosAssocHeader { count: 1, set, punit_cpu_map: 1 }.to_bytes(&mut argument);
    let entry = ClosAssoc { core: 2, clos, ..Default::default() };
    entry.to_bytes(&mut argument[request.header_bytes..]);
    driver.isst.call(request, &mut argument)?;
    Ok(ClosAssoc::from_bytes(&argument[request.header_bytes..]).clos)
}

#[test]
fn a_file_puts_faults_in() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("state");
    let named = |machine: &str, text: &str| {
        std::fs::write(&file, text).unwrap();
        Model::named(&format!("{machine}@{}", file.display()))
    };
    let fault = r#"{"firmware_faults": [{"on": "95/03", "does": "not-permitted"}]}"#;
    let guide = Driver::with(named("guide", fault).unwrap());
    assert_eq!(guide.ask(0x95, 0x03, 1 << 16), Err(EPERM));
    assert_eq!(guide.ask(0x94, 0x03, 0), Ok(1));
    for (machine, on) in [
        ("guide", "7f/0d"),
        ("guide", "7f/1"),
        ("guide", "tpmi/9"),
        ("granite", "mmio"),
        ("granite", "tpmi/4"),
        ("granite", "levels"),
        ("vm-2c", "map"),
    ] {
        let text = format!(r#"{{"firmware_faults": [{{"on": "{on}", "does": "busy"}}]}}"#);
        let error = named(machine, &text).unwrap_err().to_string();
        assert!(error.contains(&file.display().to_string()), "{error}");
        assert!(machine == "vm-2c" || error.contains(on), "{error}");
    }
    // What the driver notes down on the way does not lose the faults.
    let guide = Driver::with(named("guide", fault).unwrap());
    guide.ask(0x7f, 0x08, 4).unwrap();
    let again = Driver::with(Model::named(&format!("guide@{}", file.display())).unwrap());
    assert_eq!(again.ask(0x7f, 0x00, 0), Ok(0x8004_0401));
    assert_eq!(again.ask(0x95, 0x03, 1 << 16), Err(EPERM));
}

#[test]
fn a_cpu_that_was_never_online_leads_nowhere() {
    let guide = Driver::changed(|text| text.replace("[topology]", "[topology]\noffline = \"3\""));
    let level = (0x7f, 0x00, 0, 0);
    assert_eq!(guide.command(3, level), Err(EINVAL));
    assert_eq!(guide.mmio(0, 3, 0x08, 0), Err(EINVAL));
    assert_eq!(guide.msr(0, 3, 0x1ad, 0), Err(ENXIO));
    let map = guide.list(1, &[CpuMap { logical: 3, physical: 9 }]).unwrap();
    assert_eq!(map[0].physical, 0);
    // Where the way is a register, the CPU must be online.
    let skylake = Driver::changed(|text| text.replace("model = 106", "model = 85"));
    let path = "/sys/devices/system/cpu/cpu3/online";
    crate::Writer::new(&skylake.model).write(path, "0").unwrap();
    assert_eq!(skylake.command(3, level), Err(ENXIO));
    assert_eq!(skylake.command(4, level), Ok(0x8000_0401));
}

#[test]
fn the_status_of_classes_is_not_written() {
    let guide = Driver::of("guide");
    guide.command(0, (0xd0, 0x02, 0x100, 6)).unwrap();
    assert_eq!(guide.command(0, (0xd0, 0x03, 0x100, 0)), Ok(6));
    assert_eq!(guide.command(0, (0xd0, 0x02, 0, 0)), Ok(6));
}

#[test]
fn siblings_and_dies_are_in_the_files() {
    let read = |name: &str, cpu: u32, file: &str| {
        let tree = SimulatedTree::new(&Model::named(name).unwrap());
        tree.read(&format!("/sys/devices/system/cpu/cpu{cpu}/topology/{file}")).unwrap()
    };
    assert_eq!(read("guide", 3, "thread_siblings_list"), "3,31");
    // 56 CPUs: 32 bits in the last word, 24 in the first.
    assert_eq!(read("guide", 3, "thread_siblings"), "000000,80000008");
    assert_eq!(read("guide", 12, "thread_siblings"), "000100,00001000");
    assert_eq!(
        [0, 11, 22, 32, 43].map(|cpu| read("granite", cpu, "die_id")),
        ["0", "1", "2", "0", "1"]
    );
    assert_eq!(read("sierra", 0, "die_id"), "0");
}

#[test]
fn a_power_domain_may_say_that_it_has_no_levels() {
    let text = include_str!("../machines/granite.toml");
    let text = text.replace("io_domains = 2", "io_domains = 2\nwithout_levels = [3, 4]");
    let granite = Driver::with(Model::parse("x.toml", &text).unwrap());
    let enabled =
        |domain| granite.single(9, &PerfLevels { domain, ..Default::default() }).unwrap().enabled;
    assert_eq!([enabled(0), enabled(3)], [1, 0]);
}

#[test]
fn power_domains_answer_for_themselves() {
    let granite = Driver::of("granite");
    let count = |socket| granite.single(5, &InstanceCount { socket, ..Default::default() });
    let instances = count(1).unwrap();
    assert_eq!((instances.count, instances.valid), (5, 0x1f));
    assert_eq!(count(2), Err(ENOTTY));
    let levels = |domain| granite.single(9, &PerfLevels { domain, ..Default::default() });
    let info = levels(0).unwrap();
    assert_eq!((info.max_level, info.level_mask, info.current_level, info.locked), (1, 3, 0, 0));
    assert_eq!((info.base_freq_support, info.turbo_freq_support), (1, 1));
    let io = levels(3).unwrap();
    assert_eq!((io.level_mask, io.base_freq_support, io.turbo_freq_support), (3, 0, 0));
    assert_eq!(levels(5), Err(ENOTTY));
    let mask = |domain, level| {
        let ask = CpuMask { domain, level, punit_cpu_map: 1, ..Default::default() };
        granite.single(13, &ask).unwrap().mask
    };
    assert_eq!([mask(0, 0), mask(2, 0), mask(3, 0)], [0x7ff, 0x3ff, 0]);
    assert_eq!([mask(0, 1), mask(2, 1)], [0xff, 0xff]);
    // Numbers of CPUs: the domain, the module, the thread.
    let cpus = [0, 10, 11, 22, 31, 32, 64, 96].map(|logical| CpuMap { logical, physical: 0 });
    let physical: Vec<u32> =
        granite.list(1, &cpus).unwrap().iter().map(|answer| answer.physical).collect();
    assert_eq!(physical, [0, 0x50, 0x800, 0x1000, 0x1048, 0, 1, 1]);
    // Four cores share a module.
    let sierra = Driver::of("sierra");
    let cpus = [0, 3, 4, 31].map(|logical| CpuMap { logical, physical: 0 });
    let physical: Vec<u32> =
        sierra.list(1, &cpus).unwrap().iter().map(|answer| answer.physical).collect();
    assert_eq!(physical, [0, 3, 8, 0x3b]);
}

#[test]
fn power_domains_keep_the_drivers_rules() {
    let granite = Driver::of("granite");
    let levels = |socket, domain| {
        granite.single(9, &PerfLevels { socket, domain, ..Default::default() }).unwrap()
    };
    let feature = |feature| granite.single(11, &PerfSetFeature { socket: 0, domain: 1, feature });
    feature(3).unwrap();
    assert_eq!(levels(0, 1).feature_state, 3);
    assert_eq!(levels(0, 0).feature_state, 0);
    assert_eq!(feature(4), Err(ENOTTY));
    let switch = |level| granite.single(10, &PerfSetLevel { socket: 0, domain: 1, level });
    assert_eq!(switch(0), Err(ENOTTY), "it is there already");
    assert_eq!(switch(2), Err(ENOTTY), "there is no such level");
    switch(1).unwrap();
    assert_eq!((levels(0, 1).current_level, levels(0, 1).feature_state), (1, 0));
    assert_eq!(granite.base_khz(11), "2500000");
    assert_eq!(granite.base_khz(0), "2200000");
    // Level 1 supports neither: the firmware leaves them off.
    feature(3).unwrap();
    assert_eq!(levels(0, 1).feature_state, 0);
    let class = ClosParam {
        set: 1,
        clos: 2,
        min_mhz: 1550,
        max_mhz: 25500,
        weight: 7,
        ..Default::default()
    };
    granite.single(7, &class).unwrap();
    let read = granite.single(7, &ClosParam { set: 0, min_mhz: 0, max_mhz: 0, weight: 0, ..class });
    let read = read.unwrap();
    assert_eq!((read.min_mhz, read.max_mhz, read.weight), (1500, 25500, 7));
    assert_eq!(granite.single(7, &ClosParam { clos: 4, ..class }), Err(ENOTTY));
    let state = CorePowerState { set: 1, enable: 1, priority_type: 1, ..Default::default() };
    granite.single(6, &state).unwrap();
    let state = granite.single(6, &CorePowerState::default()).unwrap();
    assert_eq!((state.enable, state.supported, state.priority_type), (1, 1, 1));
    let sierra = Driver::of("sierra");
    assert_eq!(sierra.single(10, &PerfSetLevel { socket: 0, domain: 0, level: 1 }), Err(ENOTTY));
    assert_eq!(sierra.single(6, &CorePowerState::default()).unwrap().supported, 0);
}

#[test]
fn broken_descriptions_name_the_key() {
    let text = include_str!("../machines/guide.toml");
    for (from, to, key) in [
        ("interface = 1", "interface = 4", "speed_select.interface"),
        ("modules = [14]", "modules = [13]", "speed_select.modules"),
        ("modules = [14]", "modules = [14]\nio_domains = 1", "speed_select.io_domains"),
        (
            "modules = [14]",
            "modules = [14]\nmodule_numbers = \"0-12\"",
            "speed_select.module_numbers",
        ),
        (
            "modules = [14]",
            "modules = [14]\nmodule_numbers = \"0-12,64\"",
            "speed_select.module_numbers",
        ),
        ("number = 4", "number = 3", "speed_select.level"),
        ("number = 4", "number = 5", "speed_select.level"),
        ("base_mhz = [2600, ", "base_mhz = [2650, ", "steps of 100 MHz"),
        ("high_mhz = 3000", "high_mhz = 25600", "steps of 100 MHz"),
        ("revision = 1", "revision = 1\ncolour = 1", "colour"),
    ] {
        assert!(text.contains(from), "{from}");
        let error = Model::parse("x.toml", &text.replacen(from, to, 1)).unwrap_err().to_string();
        assert!(error.contains(key), "{error}");
    }
}
