//! libpfm4, a library of event encodings, loaded when it is wanted.
//!
//! It encodes events of CPUs that are not this one only where `LIBPFM_ENCODE_INACTIVE` is set before
//! it is initialised. Setting a variable is safe only while no other thread can read it: it is done
//! where this process has one thread, and otherwise left to who starts it. `LIBPFM_FORCE_PMU` is not
//! used: a name that the library does not know makes every PMU absent, without an error.
//!
//! # Source
//! `perfmon/pfmlib.h` and `perfmon/pfmlib_perf_event.h` of libpfm 4.13.

use std::ffi::{CStr, CString, c_char, c_int, c_uint};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use crate::library::{Library, NotLoaded};

/// The variable that makes it encode for other CPUs.
pub const ENCODE_INACTIVE: &str = "LIBPFM_ENCODE_INACTIVE";

/// The name by which the loader finds it.
const LIBRARY: &str = "libpfm.so.4";

/// The library, initialised.
pub struct Pfm {
    calls: Mutex<Calls>,
    version: (u32, u32),
    encodes_inactive: bool,
}

/// Its functions that are called here.
struct Calls {
    pmu_info: unsafe extern "C" fn(c_int, *mut PmuInfo) -> c_int,
    event_next: unsafe extern "C" fn(c_int) -> c_int,
    event_info: unsafe extern "C" fn(c_int, c_int, *mut EventInfo) -> c_int,
    attribute_info: unsafe extern "C" fn(c_int, c_int, c_int, *mut AttributeInfo) -> c_int,
    encoding: unsafe extern "C" fn(*const c_char, c_int, c_int, *mut PerfArgument) -> c_int,
    words: unsafe extern "C" fn(c_int) -> *const c_char,
}

/// What is counted: user and kernel mode (`PFM_PLM3 | PFM_PLM0`).
const BOTH_MODES: c_int = 8 | 1;
/// `PFM_OS_PERF_EVENT`
const FOR_PERF: c_int = 1;
/// `PFM_SUCCESS`
const SUCCESS: c_int = 0;
/// `PFM_ATTR_UMASK`
const UNIT_MASK: c_int = 1;
/// `PFM_PMU_TYPE_CORE`
const CORE: c_int = 1;

/// `pfm_pmu_info_t`
#[repr(C)]
struct PmuInfo {
    name: *const c_char,
    description: *const c_char,
    size: usize,
    pmu: c_int,
    kind: c_int,
    events: c_int,
    first_event: c_int,
    encodings_max: c_int,
    counters: c_int,
    fixed_counters: c_int,
    flags: c_uint,
}

/// `pfm_event_info_t`
#[repr(C)]
struct EventInfo {
    name: *const c_char,
    description: *const c_char,
    equivalent: *const c_char,
    size: usize,
    code: u64,
    pmu: c_int,
    data_type: c_int,
    index: c_int,
    attributes: c_int,
    reserved: c_int,
    flags: c_uint,
}

/// `pfm_event_attr_info_t`
#[repr(C)]
struct AttributeInfo {
    name: *const c_char,
    description: *const c_char,
    equivalent: *const c_char,
    size: usize,
    code: u64,
    kind: c_int,
    index: c_int,
    control: c_int,
    flags: c_uint,
    default: u64,
}

/// `pfm_perf_encode_arg_t`
#[repr(C)]
struct PerfArgument {
    attributes: *mut PerfAttributes,
    text: *mut *mut c_char,
    size: usize,
    index: c_int,
    cpu: c_int,
    flags: c_int,
    padding: c_int,
}

/// `perf_event_attr`, with room for what later versions append.
#[repr(C)]
struct PerfAttributes {
    kind: u32,
    size: u32,
    config: u64,
    between: [u64; 5],
    config1: u64,
    config2: u64,
    rest: [u64; 24],
}

/// A PMU that the library knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PfmPmu {
    /// Its short name: `spr`, `amd64_fam19h_zen4`.
    pub name: String,
    /// What it is.
    pub description: String,
    /// Whether it is one of this machine's.
    pub is_present: bool,
    /// Whether it is a core's.
    pub is_of_cores: bool,
    /// How many general and how many fixed counters the library gives it.
    pub counters: (u32, u32),
    first_event: c_int,
}

/// An event of a PMU.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PfmEvent {
    /// Its name, in upper case.
    pub name: String,
    /// What it counts.
    pub description: String,
    /// Its unit masks.
    pub unit_masks: Vec<UnitMask>,
}

/// A unit mask of an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnitMask {
    /// Its name, in upper case.
    pub name: String,
    /// What it counts.
    pub description: String,
}

/// An event as perf_event_open(2) takes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Encoding {
    /// `type`
    pub kind: u32,
    /// `config`, `config1` and `config2`.
    pub config: [u64; 3],
}

impl Pfm {
    /// The library. It is loaded once, and never closed.
    pub fn load() -> Result<&'static Pfm, NotLoaded> {
        static LOADED: OnceLock<Result<Pfm, NotLoaded>> = OnceLock::new();
        LOADED.get_or_init(Pfm::initialised).as_ref().map_err(Clone::clone)
    }

    fn initialised() -> Result<Pfm, NotLoaded> {
        let library = Library::open(LIBRARY)?;
        let wish = encode_inactive();
        let (initialize, calls) = functions(&library).ok_or(NotLoaded::NoRuntime)?;
        // SAFETY: takes nothing, and nobody else calls the library before it has returned.
        let answer = unsafe { initialize.0() };
        if answer != SUCCESS {
            return Err(NotLoaded::Refused(calls.words(answer)));
        }
        // SAFETY: it may be called at any time.
        let version = unsafe { initialize.1() }.unsigned_abs();
        let version = (version >> 16 & 0xffff, version & 0xffff);
        Ok(Pfm { calls: Mutex::new(calls), version, encodes_inactive: wish.is_heard })
    }

    /// Major and minor version.
    pub fn version(&self) -> (u32, u32) {
        self.version
    }

    /// Whether it encodes events of CPUs that are not this one.
    pub fn encodes_inactive(&self) -> bool {
        self.encodes_inactive
    }

    /// The library has state of its own and promises nothing to threads.
    fn calls(&self) -> MutexGuard<'_, Calls> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The PMUs that it knows, of whatever machine.
    pub fn pmus(&self) -> Vec<PfmPmu> {
        /// Version 4.13 has some 300, and there are gaps between their numbers.
        const NUMBERS: c_int = 2048;
        let calls = self.calls();
        (0..NUMBERS).filter_map(|number| calls.pmu(number)).collect()
    }

    /// The events of a PMU.
    pub fn events(&self, pmu: &PfmPmu) -> Vec<PfmEvent> {
        let calls = self.calls();
        let mut events = Vec::new();
        let mut index = pmu.first_event;
        while index >= 0 {
            events.extend(calls.event(index));
            // SAFETY: takes a number, and answers a negative one after the last event.
            index = unsafe { (calls.event_next)(index) };
        }
        events
    }

    /// What `PMU::EVENT:UNIT_MASK:MODIFIER=VALUE` is, or the library's words why it is nothing.
    pub fn encode(&self, text: &str) -> Result<Encoding, String> {
        let text = CString::new(text).map_err(|error| error.to_string())?;
        let size = size_of::<PerfAttributes>() as u32;
        let mut attributes = PerfAttributes {
            kind: 0,
            size,
            config: 0,
            between: [0; 5],
            config1: 0,
            config2: 0,
            rest: [0; 24],
        };
        let mut argument = PerfArgument {
            attributes: &raw mut attributes,
            text: std::ptr::null_mut(),
            size: size_of::<PerfArgument>(),
            index: 0,
            cpu: 0,
            flags: 0,
            padding: 0,
        };
        let calls = self.calls();
        // SAFETY: the text ends with zero; the argument says its own size, asks for no text, and its
        // attributes have room for what the library's version of them has.
        let answer =
            unsafe { (calls.encoding)(text.as_ptr(), BOTH_MODES, FOR_PERF, &raw mut argument) };
        if answer != SUCCESS {
            return Err(calls.words(answer));
        }
        let PerfAttributes { kind, config, config1, config2, .. } = attributes;
        Ok(Encoding { kind, config: [config, config1, config2] })
    }
}

/// `pfm_initialize` and `pfm_get_version`.
type Initialize = (unsafe extern "C" fn() -> c_int, unsafe extern "C" fn() -> c_int);

fn functions(library: &Library) -> Option<(Initialize, Calls)> {
    let initialize = (
        // SAFETY: `pfmlib.h` declares it so.
        unsafe { library.function(c"pfm_initialize") }?,
        // SAFETY: the same.
        unsafe { library.function(c"pfm_get_version") }?,
    );
    let calls = Calls {
        // SAFETY: the same; an enumeration is passed as an int.
        pmu_info: unsafe { library.function(c"pfm_get_pmu_info") }?,
        // SAFETY: the same.
        event_next: unsafe { library.function(c"pfm_get_event_next") }?,
        // SAFETY: the same.
        event_info: unsafe { library.function(c"pfm_get_event_info") }?,
        // SAFETY: the same.
        attribute_info: unsafe { library.function(c"pfm_get_event_attr_info") }?,
        // SAFETY: the same; what the pointer points to depends on the operating system asked for.
        encoding: unsafe { library.function(c"pfm_get_os_event_encoding") }?,
        // SAFETY: the same.
        words: unsafe { library.function(c"pfm_strerror") }?,
    };
    Some((initialize, calls))
}

impl Calls {
    fn words(&self, error: c_int) -> String {
        // SAFETY: takes a number, and answers a text of its own for every one.
        text(unsafe { (self.words)(error) })
    }

    fn pmu(&self, number: c_int) -> Option<PfmPmu> {
        // SAFETY: the structure consists of pointers and numbers, for which zero is a value.
        let mut info: PmuInfo = unsafe { std::mem::zeroed() };
        info.size = size_of::<PmuInfo>();
        // SAFETY: the structure says its own size; numbers without a PMU are refused.
        let answer = unsafe { (self.pmu_info)(number, &raw mut info) };
        (answer == SUCCESS).then(|| PfmPmu {
            name: text(info.name),
            description: text(info.description),
            is_present: info.flags & 1 == 1,
            is_of_cores: info.kind == CORE,
            counters: (info.counters.unsigned_abs(), info.fixed_counters.unsigned_abs()),
            first_event: info.first_event,
        })
    }

    fn event(&self, index: c_int) -> Option<PfmEvent> {
        // SAFETY: as in `pmu`.
        let mut info: EventInfo = unsafe { std::mem::zeroed() };
        info.size = size_of::<EventInfo>();
        // SAFETY: the structure says its own size; an index without an event is refused.
        let answer = unsafe { (self.event_info)(index, FOR_PERF, &raw mut info) };
        (answer == SUCCESS).then(|| PfmEvent {
            name: text(info.name),
            description: text(info.description),
            unit_masks: (0..info.attributes).filter_map(|a| self.unit_mask(index, a)).collect(),
        })
    }

    fn unit_mask(&self, event: c_int, attribute: c_int) -> Option<UnitMask> {
        // SAFETY: as in `pmu`.
        let mut info: AttributeInfo = unsafe { std::mem::zeroed() };
        info.size = size_of::<AttributeInfo>();
        // SAFETY: the structure says its own size; an index without an attribute is refused.
        let answer = unsafe { (self.attribute_info)(event, attribute, FOR_PERF, &raw mut info) };
        let is_wanted = answer == SUCCESS && info.kind == UNIT_MASK;
        is_wanted.then(|| UnitMask { name: text(info.name), description: text(info.description) })
    }
}

/// A text of the library's own.
fn text(words: *const c_char) -> String {
    if words.is_null() {
        return String::new();
    }
    // SAFETY: the library's texts are constants that end with zero.
    unsafe { CStr::from_ptr(words) }.to_string_lossy().into_owned()
}

/// Whether other CPUs' events will be encoded, once initialised.
fn encode_inactive() -> EnvVarGuard {
    if std::env::var_os(ENCODE_INACTIVE).is_some() {
        return EnvVarGuard { is_heard: true, is_ours: false };
    }
    let is_alone = std::fs::read_dir("/proc/self/task").is_ok_and(|tasks| tasks.count() == 1);
    if is_alone {
        // SAFETY: there is no other thread that could read the environment, and none can begin but by
        // this one.
        unsafe { std::env::set_var(ENCODE_INACTIVE, "1") };
    }
    EnvVarGuard { is_heard: is_alone, is_ours: is_alone }
}

/// The wish in the environment, for as long as the library is being initialised: what this process starts
/// later shall not find it there.
struct EnvVarGuard {
    is_heard: bool,
    is_ours: bool,
}

impl Drop for EnvVarGuard {
    fn drop(&mut self) {
        if self.is_ours {
            // SAFETY: as in `encode_inactive`: the library has started no thread either.
            unsafe { std::env::remove_var(ENCODE_INACTIVE) };
        }
    }
}
