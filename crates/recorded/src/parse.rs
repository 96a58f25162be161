//! Reading a capture.
//!
//! The text may be anything. Nothing in it makes us take more memory than a small multiple of its
//! own length: folded lines stay folded, and what is put together again has a longest size.

use std::collections::{BTreeMap, BTreeSet};

use machine::Machine;
use machine::dir::TEXT_BYTES_MAX;
use model::CpuSet;
use sys::cpuid::Leaf;

use crate::Error;
use crate::captured_paths::Pattern;
use crate::folded::{self, Folded};
use crate::numbers::Numbers;
use crate::replay::{self, Capture};
use crate::text::{Answer, PLACE, quoted, unescaped};
use crate::{CAPTURE_BYTES_MAX, END, FIRST_LINE};

/// The machine of a capture's text; `name` is what errors call it.
pub fn parse(name: &str, text: &str) -> Result<Machine, Error> {
    let capture = read(text).map_err(|Broken { line, why }| Error::Broken {
        name: name.to_owned(),
        line,
        why,
    })?;
    Ok(replay::machine(capture))
}

/// What is wrong with a line.
#[derive(Debug)]
struct Broken {
    line: usize,
    why: String,
}

/// Reads a line of a section; otherwise what was expected.
type ReadLine = fn(&mut Reader, &str) -> Result<(), String>;

/// The parts of a capture, in any order, each once.
const SECTIONS: &[(&str, ReadLine)] = &[
    ("walked", Reader::walked),
    ("tree", Reader::tree),
    ("cpuinfo", Reader::cpuinfo),
    ("cpuid", Reader::cpuid),
    ("msr", Reader::registers),
    ("permits", Reader::permit),
];

fn read(text: &str) -> Result<Capture, Broken> {
    if text.len() as u64 > CAPTURE_BYTES_MAX {
        return Err(Broken { line: 1, why: "a capture has at most 32 MiB".to_owned() });
    }
    let mut lines = text.lines().zip(1..);
    let first = lines.next().map(|(line, _)| line).unwrap_or_default();
    if first != FIRST_LINE {
        return Err(Broken { line: 1, why: not_ours(first) });
    }
    let mut reader = Reader::default();
    let mut read_line: ReadLine = Reader::header;
    let mut seen = BTreeSet::new();
    let mut last = 1;
    let mut ended = false;
    for (line, number) in lines {
        last = number;
        reader.line = number;
        let broken = |why| Broken { line: number, why };
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if ended {
            return Err(broken(format!("expected nothing behind `{END}`, found {}", quoted(line))));
        }
        ended = line == END;
        match section(line).filter(|_| !ended) {
            Some(name) => read_line = enter(name, &mut seen).map_err(broken)?,
            None if ended => {}
            None => read_line(&mut reader, line).map_err(broken)?,
        }
    }
    let broken = |why| Broken { line: last, why };
    if !ended {
        return Err(broken(format!("the capture was cut off: expected `{END}` in the end")));
    }
    if let Some((lacking, _)) = SECTIONS.iter().find(|(name, _)| !seen.contains(name)) {
        return Err(broken(format!("expected a section `[{lacking}]`, found none")));
    }
    reader.finish().map_err(|(line, why)| Broken { line: line.unwrap_or(last), why })
}

fn not_ours(first: &str) -> String {
    match first.strip_prefix("cpudyno-capture ") {
        Some(version) => {
            let version = quoted(version);
            format!("this version reads captures of version 1, and this one has version {version}")
        }
        None => format!("expected `{FIRST_LINE}`, found {}", quoted(first)),
    }
}

/// `[tree]`, but not the `[0-3]` of lines.
fn section(line: &str) -> Option<&str> {
    let name = line.strip_prefix('[')?.strip_suffix(']')?;
    name.bytes().all(|b| b.is_ascii_lowercase()).then_some(name)
}

fn enter(name: &str, seen: &mut BTreeSet<&'static str>) -> Result<ReadLine, String> {
    let known = SECTIONS.iter().find(|(known, _)| *known == name);
    let Some((name, read_line)) = known else {
        let names: Vec<String> = SECTIONS.iter().map(|(name, _)| format!("[{name}]")).collect();
        return Err(format!("expected one of {}, found {}", names.join(" "), quoted(name)));
    };
    if !seen.insert(name) {
        return Err(format!("the section `[{name}]` is there twice"));
    }
    Ok(*read_line)
}

/// What was read so far.
#[derive(Default)]
struct Reader {
    line: usize,
    header: BTreeMap<String, Answer>,
    walked: Vec<Pattern>,
    tree: Folded<String, Answer>,
    cpuinfo: Vec<(Numbers, String)>,
    cpuid: Folded<(u32, u32), Leaf>,
    cpuid_of_any: BTreeMap<(u32, u32), Leaf>,
    xcr0: Option<u64>,
    registers: Folded<u32, Answer>,
    permits: BTreeMap<String, Answer>,
}

impl Reader {
    fn header(&mut self, line: &str) -> Result<(), String> {
        let (key, answer) = answer_of(line)?;
        once(&mut self.header, key, answer)
    }

    fn walked(&mut self, line: &str) -> Result<(), String> {
        /// Each miss is looked up in all of them.
        const PATTERNS_MAX: usize = 1000;
        let pattern = Pattern::parse(line).filter(|_| self.walked.len() < PATTERNS_MAX);
        let expected =
            || format!("expected a pattern of paths such as `/proc/*`, found {}", quoted(line));
        self.walked.push(pattern.ok_or_else(expected)?);
        Ok(())
    }

    fn tree(&mut self, line: &str) -> Result<(), String> {
        let (path, answer) = answer_of(line)?;
        if !path.starts_with('/') {
            return Err(format!("expected a path such as `/proc/meminfo`, found {}", quoted(path)));
        }
        let (template, numbers) = unfolded(path)?;
        if answer == Answer::OwnNumber && !template.contains(PLACE) {
            return Err("`= {}` stands for the number in the path, and there is none".to_owned());
        }
        self.tree.add(template, &numbers, answer, self.line);
        Ok(())
    }

    fn cpuinfo(&mut self, line: &str) -> Result<(), String> {
        let expected = || format!("expected `[NUMBERS] LINE`, found {}", quoted(line));
        let (numbers, text) =
            line.strip_prefix('[').and_then(|line| line.split_once(']')).ok_or_else(expected)?;
        let numbers = numbers_of(numbers)?;
        self.cpuinfo.push((numbers, text.strip_prefix(' ').unwrap_or(text).to_owned()));
        Ok(())
    }

    fn cpuid(&mut self, line: &str) -> Result<(), String> {
        let expected =
            || format!("expected `0x7.0 [CPUS] = EAX EBX ECX EDX`, found {}", quoted(line));
        let (name, value) = line.split_once(" = ").ok_or_else(expected)?;
        if name == "xcr0" {
            if self.xcr0.is_some() {
                return Err("`xcr0` is there twice".to_owned());
            }
            self.xcr0 = Some(hexadecimal(value).ok_or_else(expected)?);
            return Ok(());
        }
        let (leaf, cpus) = name.split_once(' ').unwrap_or((name, ""));
        let (leaf, subleaf) = leaf.split_once('.').ok_or_else(expected)?;
        let leaf = hexadecimal(leaf).and_then(|leaf| u32::try_from(leaf).ok());
        let subleaf = subleaf.parse::<u32>().ok();
        let key = leaf.zip(subleaf).ok_or_else(expected)?;
        let words: Option<Vec<u32>> =
            value.split(' ').map(|word| u32::from_str_radix(word, 16).ok()).collect();
        let Some(&[eax, ebx, ecx, edx]) = words.as_deref() else { return Err(expected()) };
        let answer = Leaf { eax, ebx, ecx, edx };
        if cpus.is_empty() {
            if self.cpuid_of_any.insert(key, answer).is_some() {
                return Err(format!("{} is there twice", quoted(name)));
            }
            return Ok(());
        }
        let cpus = cpus.strip_prefix('[').and_then(|cpus| cpus.strip_suffix(']'));
        self.cpuid.add(key, &numbers_of(cpus.ok_or_else(expected)?)?, answer, self.line);
        Ok(())
    }

    fn registers(&mut self, line: &str) -> Result<(), String> {
        let expected = || {
            format!(
                "expected `0xce [CPUS] = 0x0` or `0xce [CPUS] ! REASON`, found {}",
                quoted(line)
            )
        };
        let (registers, rest) = line.split_once(" [").ok_or_else(expected)?;
        let (cpus, answer) = rest.split_once("] ").ok_or_else(expected)?;
        let (cpus, answer) = (numbers_of(cpus)?, Answer::parse(answer)?);
        match &answer {
            Answer::Text(value) => drop(hexadecimal(value).ok_or_else(expected)?),
            Answer::Refused(_) => {}
            Answer::OwnNumber | Answer::Noted => return Err(expected()),
        }
        for register in registers.split(',') {
            let register = hexadecimal(register).and_then(|number| u32::try_from(number).ok());
            self.registers.add(register.ok_or_else(expected)?, &cpus, answer.clone(), self.line);
        }
        Ok(())
    }

    fn permit(&mut self, line: &str) -> Result<(), String> {
        let (question, answer) = answer_of(line)?;
        once(&mut self.permits, question, answer)
    }

    fn finish(mut self) -> Result<Capture, (Option<usize>, String)> {
        let twice = |line| (Some(line), "this line says again what another one said".to_owned());
        self.tree.sort().map_err(twice)?;
        self.cpuid.sort().map_err(twice)?;
        self.registers.sort().map_err(twice)?;
        let whole = |why| (None, why);
        let text = |key: &str| match self.header.get(key) {
            Some(Answer::Text(text)) => Ok(text.clone()),
            _ => Err(whole(format!("expected a line `{key} = ...` before the first section"))),
        };
        let captured = text("captured")?;
        if humantime::parse_rfc3339(&captured).is_err() {
            let found = quoted(&captured);
            let why = format!(
                "expected a time such as 2026-11-21T09:40:00Z behind `captured`, found {found}"
            );
            return Err(whole(why));
        }
        let affinity = match self.header.get("affinity") {
            Some(Answer::Text(list)) => {
                let list: Result<CpuSet, _> = list.parse();
                Answer::Text(list.map_err(|error| whole(error.to_string()))?.to_string())
            }
            Some(Answer::Refused(reason)) => Answer::Refused(reason.clone()),
            _ => return Err(whole("expected a line `affinity = CPUS`".to_owned())),
        };
        Ok(Capture {
            captured,
            by: text("by")?,
            is_root: text("user")? == "root",
            affinity,
            simulated: text("simulated").ok().map(|name| first_word(&name)),
            walked: self.walked,
            cpuinfo: cpuinfo(&self.cpuinfo).map_err(whole)?,
            tree: self.tree,
            cpuid: self.cpuid,
            cpuid_of_any: self.cpuid_of_any,
            xcr0: self.xcr0,
            registers: self.registers,
            permits: self.permits,
        })
    }
}

fn first_word(text: &str) -> String {
    text.split(' ').next().unwrap_or_default().to_owned()
}

fn once(map: &mut BTreeMap<String, Answer>, key: &str, answer: Answer) -> Result<(), String> {
    match map.insert(key.to_owned(), answer) {
        None => Ok(()),
        Some(_) => Err(format!("{} is there twice", quoted(key))),
    }
}

/// A name, and the answer behind it.
fn answer_of(line: &str) -> Result<(&str, Answer), String> {
    // The first of them ends the name: values may hold all of them.
    let starts = [" = ", " ! ", " ("].iter().filter_map(|start| line.find(start));
    let end = starts.min().or_else(|| line.strip_suffix(" =").map(str::len));
    let Some(end) = end else {
        return Err(format!("expected `NAME = VALUE` or `NAME ! REASON`, found {}", quoted(line)));
    };
    Ok((&line[..end], Answer::parse(&line[end + 1..])?))
}

fn numbers_of(text: &str) -> Result<Numbers, String> {
    Numbers::parse(text).ok_or_else(|| {
        format!("expected ascending numbers up to 65535 such as `0-3,8`, found {}", quoted(text))
    })
}

fn hexadecimal(text: &str) -> Option<u64> {
    let digits = text.strip_prefix("0x")?;
    u64::from_str_radix(digits, 16).ok().filter(|_| !digits.starts_with('+'))
}

/// `/cpu[0-3]/online` as name and numbers. Paths that have no number have 0.
fn unfolded(path: &str) -> Result<(String, Numbers), String> {
    let Some((before, rest)) = path.split_once('[') else {
        let (template, number) = folded::split(&unescaped(path)?);
        return Ok((template, Numbers::ascending([number.unwrap_or(0)])));
    };
    let expected = || format!("expected numbers in brackets, found {}", quoted(path));
    let (numbers, after) = rest.split_once(']').ok_or_else(expected)?;
    let numbers = numbers_of(numbers)?;
    let (before, after) = (unescaped(before)?, unescaped(after)?);
    if before.contains(PLACE) || after.contains(PLACE) {
        return Err(expected());
    }
    let template = format!("{before}{PLACE}{after}");
    // Where the number is looked for is where it must stand.
    let first = numbers.iter().next();
    if folded::split(&folded::join(&template, first)) != (template.clone(), first) {
        let why =
            "expected the brackets at the first number of the path, such as `/cpu[0-3]/online`";
        return Err(format!("{why}, found {}", quoted(path)));
    }
    Ok((template, numbers))
}

/// The text of `/proc/cpuinfo`, put together again.
fn cpuinfo(lines: &[(Numbers, String)]) -> Result<Option<String>, String> {
    let bytes = lines.iter().map(|(numbers, line)| numbers.count() * (line.len() as u64 + 8));
    if bytes.sum::<u64>() > TEXT_BYTES_MAX {
        return Err("the text of [cpuinfo] would be longer than 32 MiB".to_owned());
    }
    let mut blocks: Vec<Vec<String>> = Vec::new();
    for (numbers, line) in lines {
        let (line, own) = match line.strip_suffix(" {}") {
            Some(before) => (before, true),
            None => (line.as_str(), false),
        };
        let line = unescaped(line)?;
        for number in numbers.iter() {
            let place = number as usize;
            if place >= blocks.len() {
                blocks.resize_with(place + 1, Vec::new);
            }
            if let Some(block) = blocks.get_mut(place) {
                block.push(if own { format!("{line} {number}") } else { line.clone() });
            }
        }
    }
    if blocks.iter().any(Vec::is_empty) {
        return Err("expected lines of every block in [cpuinfo], found a hole".to_owned());
    }
    let blocks: Vec<String> = blocks.iter().map(|block| block.join("\n")).collect();
    Ok((!blocks.is_empty()).then(|| blocks.join("\n\n")))
}
