//! What each feature and each command does, when one uses it, and a call of it: for the help of both faces.

/// A feature, or a command of one.
#[derive(Debug)]
pub struct Lesson {
    /// Feature and command: `perf-profile info`.
    pub words: &'static str,
    /// One to three sentences.
    pub text: &'static str,
    /// The arguments of a call that both faces take; empty: only the reference tool's face has it.
    pub example: &'static str,
}

const fn lesson(words: &'static str, text: &'static str, example: &'static str) -> Lesson {
    Lesson { words, text, example }
}

impl Lesson {
    /// That of a feature or of a command.
    pub fn of(words: &str) -> Option<&'static Lesson> {
        LESSONS.iter().find(|lesson| lesson.words == words)
    }

    /// Those of the commands that are called so, of all features.
    pub fn of_commands(name: &str) -> impl Iterator<Item = &'static Lesson> {
        LESSONS.iter().filter(move |it| it.words.split_once(' ').is_some_and(|of| of.1 == name))
    }
}

/// All of them.
pub const LESSONS: &[Lesson] = &[
    lesson(
        "perf-profile",
        "A performance level trades cores for clock: fewer cores at a higher base frequency, or more at a \
         lower one. Choose another level where a program uses few cores and needs a high clock all the time. \
         The base frequency of a level holds only while no other core is online.",
        "perf-profile info -l 4",
    ),
    lesson(
        "perf-profile info",
        "It shows the cores, base frequencies, turbo limits and power of each level, and which features the \
         level has. Read it before you choose a level.",
        "-c 0 perf-profile info -l 0",
    ),
    lesson(
        "perf-profile get-config-levels",
        "Levels are counted from 0: a highest level of 4 means at most five levels. Ask it to learn what -l \
         takes.",
        "perf-profile get-config-levels",
    ),
    lesson(
        "perf-profile get-config-version",
        "Firmware numbers its interface of levels. The number belongs into a report of a fault.",
        "perf-profile get-config-version",
    ),
    lesson(
        "perf-profile get-config-enabled",
        "Where levels cannot be chosen at run time, the machine keeps the one that it has. Ask it if \
         set-config-level is refused.",
        "perf-profile get-config-enabled",
    ),
    lesson(
        "perf-profile get-config-current-level",
        "base-freq and turbo-freq belong to the present level. Ask it before you read or enable them, and \
         after set-config-level.",
        "perf-profile get-config-current-level",
    ),
    lesson(
        "perf-profile get-lock-status",
        "A locked level cannot be changed; the BIOS setup may have an option that unlocks it. Ask it before \
         set-config-level.",
        "perf-profile get-lock-status",
    ),
    lesson(
        "perf-profile set-config-level",
        "A new level switches base-freq and turbo-freq off. Its base frequency holds only while no core is \
         online that it does not allow: -o takes those cores offline, brings the allowed ones back, and sets \
         the limits of the uncore. Without -o, take them offline yourself.",
        "perf-profile set-config-level -l 4 -o",
    ),
    lesson(
        "core-power",
        "Each core belongs to one of four classes, which decide where the clock goes down last when power \
         runs short; a class also has a lowest and a highest frequency. Use it to protect the cores of \
         important work. base-freq and turbo-freq need it.",
        "core-power info",
    ),
    lesson(
        "core-power info",
        "It shows whether the firmware heeds the classes, and by which type of priority. Look at it before \
         you enable base-freq or turbo-freq without -a.",
        "-c 0 core-power info",
    ),
    lesson(
        "core-power get-config",
        "It shows the weight of a class, its lowest and its highest frequency. Compare them before and after \
         `core-power config`.",
        "core-power get-config -c 0",
    ),
    lesson(
        "core-power get-assoc",
        "CPUs of a core, or of a module of several cores, share their class. Name the CPUs before the \
         feature.",
        "-c 10 core-power get-assoc",
    ),
    lesson(
        "core-power enable",
        "The firmware heeds the classes, in all power domains of a package (with interface 1, of a die). \
         Priority type 0 (proportional) shares power by the weights of the classes; type 1 (ordered) \
         throttles class 3 first and class 0 last.",
        "core-power enable -p 1",
    ),
    lesson(
        "core-power disable",
        "The firmware treats all cores alike again. Switch base-freq and turbo-freq off before.",
        "core-power disable",
    ),
    lesson(
        "core-power config",
        "A class has a weight, a lowest and a highest frequency, in all power domains of a package (with \
         interface 1, of a die). Raise the lowest frequency to favour its cores where power runs short, \
         lower the highest to spare power. Options that are left out get their defaults: no limits, weight 0.",
        "core-power config -c 0 -n 2600 -m 3000",
    ),
    lesson(
        "core-power assoc",
        "CPUs that share a core go into the class with the named ones. Name the CPUs before the feature, and \
         leave cpufreq's limits of these CPUs alone afterwards.",
        "-c 10 core-power assoc -c 3",
    ),
    lesson(
        "base-freq",
        "Some cores, which the firmware has chosen, get a higher base frequency, and all others a lower one; \
         no core goes offline. Use it for threads that need a high clock all the time, and pin them to these \
         cores. A level may not have it.",
        "base-freq info -l 0",
    ),
    lesson(
        "base-freq info",
        "It shows which CPUs get the higher base frequency, how high it is, and the lower one of the others. \
         Read it before `base-freq enable`, to see whether the cost is acceptable.",
        "base-freq info -l 0",
    ),
    lesson(
        "base-freq enable",
        "It works at the present level. -a also sets what it needs: classes, core-power, and the lowest \
         clocks; without -a, set these first.",
        "base-freq enable -a",
    ),
    lesson(
        "base-freq disable",
        "All cores have the base frequency of the level again. -a also switches core-power off, and sets the \
         lowest clocks as low as they go.",
        "base-freq disable -a",
    ),
    lesson(
        "turbo-freq",
        "A few cores of your choice get a higher turbo limit, and all others are clipped to a lower one. Use \
         it where all cores are busy and few of them matter most; with idle cores, turbo limits are higher \
         anyway. A level may not have it.",
        "turbo-freq info -l 0",
    ),
    lesson(
        "turbo-freq info",
        "It shows the turbo limit of the chosen cores by their number, and the one at which the others are \
         clipped. Compare it with the turbo limits of `perf-profile info` to see whether it is worth it.",
        "turbo-freq info -l 0",
    ),
    lesson(
        "turbo-freq enable",
        "It works at the present level. -a also gives priority to the CPUs that are named before the feature, \
         and to their siblings; without -a, set classes and core-power first.",
        "-c 12,13 turbo-freq enable -a",
    ),
    lesson(
        "turbo-freq disable",
        "All cores have the turbo limits of the level again. -a also switches core-power off.",
        "turbo-freq disable -a",
    ),
    lesson(
        "turbo-mode",
        "Limits of the clock allow or forbid clocks above the base frequency. Forbid them where a steady \
         clock matters more than a high one.",
        "turbo-mode disable",
    ),
    lesson(
        "turbo-mode enable",
        "It sets the limits of the clock as high as they go. It undoes `turbo-mode disable`.",
        "turbo-mode enable",
    ),
    lesson(
        "turbo-mode disable",
        "It sets the limits of the clock to the base frequency, so that clocks do not rise while cores are idle.",
        "turbo-mode disable",
    ),
    lesson(
        "turbo-mode get-trl",
        "It shows the turbo limits that hold at most, a ratio of 100 MHz in each byte; the lowest byte is \
         that of the fewest cores. Note them before set-trl.",
        "",
    ),
    lesson(
        "turbo-mode set-trl",
        "It sets the turbo limits that hold at most, a ratio of 100 MHz in each byte; the lowest byte is that \
         of the fewest cores. Lower them to compare machines at one clock.",
        "turbo-mode set-trl -t 0x1c1c1c1c1c1c1c1c",
    ),
];
