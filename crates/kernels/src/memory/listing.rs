//! Reads the machine code of memory kernels back and holds it against their declarations.

use std::collections::{BTreeMap, BTreeSet};

use iced_x86::{FlowControl, Instruction, Mnemonic, OpKind, Register};

use super::{MemoryKernel, Stores, TABLE, Variant, formulas};
use crate::listing::{check_rights, disassemble, name, registers, text};

const CACHE_LINE: u64 = 64;

/// Of the sub-streams.
const POINTERS: [Register; 4] = [Register::RAX, Register::R10, Register::RBX, Register::RBP];

/// What one array is to a loop: a sub-stream's pointer, and the register with the distance of the
/// array from the one that the pointer walks through, where it is another one.
type ArrayRegisters = (Register, Option<Register>);

/// The parts that are read, or written: from which displacement on, and how many bytes.
type Parts = BTreeMap<ArrayRegisters, Vec<(u64, usize)>>;

fn ensure(holds: bool, wrong: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(wrong()) }
}

/// The loop over the blocks: from the target of the first backward jump to the jump.
fn loop_of(listing: &[Instruction], streams: usize) -> Result<&[Instruction], String> {
    let is_backward = |one: &Instruction| {
        one.flow_control() == FlowControl::ConditionalBranch && one.near_branch_target() < one.ip()
    };
    let jumps: Vec<_> = (0..listing.len()).filter(|&at| is_backward(&listing[at])).collect();
    let &[jump, again] = jumps.as_slice() else {
        return Err(format!("{} backward jumps, not two", jumps.len()));
    };
    let begin_of = |jump: usize| {
        let target = listing[jump].near_branch_target();
        listing.iter().position(|one| one.ip() == target)
    };
    let (Some(begin), Some(trip)) = (begin_of(jump), begin_of(again)) else {
        return Err("a jump into the middle of an instruction".to_owned());
    };
    let head = listing[begin].ip();
    if !head.is_multiple_of(CACHE_LINE) {
        return Err(format!("the loop head {head:#x} is not at the start of a cache line"));
    }
    check_trips(listing, [trip, begin, jump, again], streams)?;
    Ok(&listing[begin..=jump])
}

/// That each trip begins where it should, and that trips are counted.
fn check_trips(
    listing: &[Instruction],
    [trip, begin, jump, again]: [usize; 4],
    streams: usize,
) -> Result<(), String> {
    let begins = ["mov rax,r11", "mov r10,r8", "lea rbx,[r10+rdi]", "lea rbp,[rbx+rdi]"];
    let (before, after) = (&listing[trip..begin], &listing[jump + 1..again]);
    let around: Vec<_> = before
        .iter()
        .filter(|one| one.mnemonic() != Mnemonic::Nop)
        .chain(after)
        .map(text)
        .collect();
    let wanted: Vec<_> = begins.into_iter().take(streams).chain(["dec r9"]).collect();
    let is_counted = listing[again].mnemonic() == Mnemonic::Jne;
    ensure(around == wanted && is_counted, || {
        format!("trips that are made by {}", around.join("; "))
    })
}

/// Holds a listing against a claim; the error says what is wrong.
fn check(listing: &[Instruction], kernel: &MemoryKernel, variant: &Variant) -> Result<(), String> {
    if listing.iter().any(Instruction::is_invalid) {
        return Err("an instruction that is none".to_owned());
    }
    check_rights(listing, variant.needs)?;
    let bits = |one: &Instruction| {
        let vectors = registers(one).filter(|register| register.is_vector_register());
        vectors.map(|register| register.size() as u32 * 8).collect::<Vec<_>>()
    };
    let Some(width) = variant.width_bits else {
        let is_alone = listing.iter().all(|one| bits(one).is_empty());
        ensure(is_alone, || "a vector register beside a string".to_owned())?;
        return check_string(listing, kernel);
    };
    if let Some(wide) = listing.iter().find(|one| bits(one).iter().any(|&found| found > width)) {
        return Err(format!("{} is wider than {width} bits", text(wide)));
    }
    let beyond = |register: Register| register.is_vector_register() && register.number() > 15;
    if let Some(one) = listing.iter().find(|one| registers(one).any(beyond)) {
        return Err(format!("{} leaves a register dirty", text(one)));
    }
    let body = loop_of(listing, variant.shape.streams)?;
    let [work @ .., _, _] = body else {
        return Err("a loop of less than two instructions".to_owned());
    };
    if let Some(narrow) = work.iter().find(|one| bits(one).iter().any(|&found| found != width)) {
        return Err(format!("{} is not of {width} bits", text(narrow)));
    }
    check_pointers(body, variant)?;
    check_work(work, kernel, variant, width)?;
    check_end(listing, variant, width)
}

/// That each sub-stream's pointer moves by a block in each iteration, and the first one decides.
fn check_pointers(body: &[Instruction], variant: &Variant) -> Result<(), String> {
    let block = variant.shape.block_bytes;
    let moves = |pointer: &str| format!("add {pointer},{block:X}h");
    let mut wanted: Vec<_> = ["rax", "r10", "rbx", "rbp"]
        .iter()
        .take(variant.shape.streams)
        .map(|one| moves(one))
        .collect();
    wanted.push("cmp rax,r8".to_owned());
    let found: Vec<_> = body
        .iter()
        .filter(|one| matches!(one.mnemonic(), Mnemonic::Add | Mnemonic::Cmp))
        .map(text)
        .collect();
    ensure(found == wanted, || format!("{}; {} is claimed", found.join("; "), wanted.join("; ")))
}

/// That an iteration reads and writes each byte of its blocks once, with the instructions that are
/// claimed, and does as much arithmetic as is claimed.
fn check_work(
    work: &[Instruction],
    kernel: &MemoryKernel,
    variant: &Variant,
    width: u32,
) -> Result<(), String> {
    let (mut read, mut written, mut asked) = (Parts::new(), Parts::new(), Parts::new());
    let mut arithmetic = 0;
    for one in work {
        let name = name(one);
        let plain = name.strip_prefix('v').unwrap_or(&name);
        let memory = (0..one.op_count()).find(|&number| one.op_kind(number) == OpKind::Memory);
        match (plain, memory) {
            ("add", None) => continue,
            ("movapd", Some(0)) if variant.stores == Stores::Ordinary => {}
            ("movntpd", Some(0)) if variant.stores == Stores::NonTemporal => {}
            ("movupd", Some(1)) | ("movapd", None) => {}
            ("mulpd" | "addpd", None | Some(2)) => arithmetic += 1,
            ("prefetchw", Some(0)) if variant.lines_ahead.is_some() => {}
            _ => return Err(format!("{} with {} stores", text(one), variant.stores.word())),
        }
        let parts = match memory {
            None => continue,
            Some(_) if plain == "prefetchw" => &mut asked,
            Some(0) => &mut written,
            Some(_) => &mut read,
        };
        let index = Some(one.memory_index()).filter(|&index| index != Register::None);
        let part = (one.memory_displacement64(), one.memory_size().size());
        parts.entry((one.memory_base(), index)).or_default().push(part);
    }
    check_parts(read, kernel, variant, Access::Read)?;
    if let Some(lines) = variant.lines_ahead {
        check_asked(&asked, &written, lines * CACHE_LINE)?;
    }
    check_parts(written, kernel, variant, Access::Write)?;
    let Variant { shape, .. } = variant;
    let vectors = shape.block_bytes * shape.streams * 8 / width as usize;
    ensure(arithmetic == vectors * kernel.flops as usize, || {
        format!("{arithmetic} instructions of arithmetic on {vectors} vectors")
    })
}

/// That each line which is written was asked for, so many bytes ahead.
fn check_asked(asked: &Parts, written: &Parts, ahead: u64) -> Result<(), String> {
    let begins_line = |&(begin, _): &&(u64, usize)| begin.is_multiple_of(CACHE_LINE);
    for (place, parts) in written {
        let wanted: Vec<_> = parts.iter().filter(begins_line).map(|one| one.0 + ahead).collect();
        let found: Vec<_> = asked.get(place).into_iter().flatten().map(|one| one.0).collect();
        ensure(found == wanted, || format!("{found:?} are asked for, claimed {wanted:?}"))?;
    }
    ensure(asked.len() == written.len(), || "another array is asked for".to_owned())
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Access {
    Read,
    Write,
}

/// That parts are those of all arrays and sub-streams, without a gap and without an overlap.
fn check_parts(
    mut parts: Parts,
    kernel: &MemoryKernel,
    variant: &Variant,
    access: Access,
) -> Result<(), String> {
    let pointers = POINTERS.into_iter().take(variant.shape.streams);
    let sources = [Register::RSI, Register::RDX, Register::RCX].map(Some);
    let sources = sources.into_iter().take(kernel.sources() as usize);
    let arrays: Vec<_> = match access {
        // Where nothing is written, the pointers walk through what is read.
        Access::Read if kernel.writes == 0 => vec![None],
        Access::Read => sources.chain(kernel.in_place.then_some(None)).collect(),
        Access::Write => (0..kernel.writes).map(|_| None).collect(),
    };
    let wanted: BTreeSet<ArrayRegisters> =
        pointers.flat_map(|pointer| arrays.iter().map(move |&array| (pointer, array))).collect();
    let found: BTreeSet<ArrayRegisters> = parts.keys().copied().collect();
    if found != wanted {
        return Err(format!("{access:?} of {found:?}, claimed {wanted:?}"));
    }
    let counted = match access {
        Access::Read => kernel.reads,
        Access::Write => kernel.writes,
    };
    if arrays.len() != counted as usize {
        return Err(format!("{access:?} of {} arrays, claimed {counted}", arrays.len()));
    }
    for (place, parts) in &mut parts {
        parts.sort_unstable();
        let end = parts
            .iter()
            .try_fold(0, |end, &(begin, bytes)| (begin == end).then_some(end + bytes as u64));
        if end != Some(variant.shape.block_bytes as u64) {
            return Err(format!("{access:?} of {parts:?} at {place:?}"));
        }
    }
    Ok(())
}

/// That non-temporal stores, and no others, are waited for, that the caller's registers are as they
/// were, and that upper halves are clean.
fn check_end(listing: &[Instruction], variant: &Variant, width: u32) -> Result<(), String> {
    let is_nt = variant.stores == Stores::NonTemporal;
    let kept = [("push rbx", "pop rbx"), ("push rbp", "pop rbp")];
    let kept = if variant.shape.streams > 2 { &kept[..] } else { &[] };
    let mut wanted: Vec<_> = kept.iter().rev().map(|both| both.1).collect();
    wanted.extend(is_nt.then_some("sfence"));
    wanted.extend((width > 128).then_some("vzeroupper"));
    wanted.push("ret");
    let is_of_end = |one: &String| {
        ["pop", "sfence", "vzeroupper", "ret"].iter().any(|start| one.starts_with(start))
    };
    let found: Vec<_> = listing.iter().map(text).filter(is_of_end).collect();
    ensure(found == wanted, || {
        format!("an end by {}, claimed {}", found.join("; "), wanted.join("; "))
    })?;
    let pushed: Vec<_> = listing.iter().map(text).filter(|one| one.starts_with("push")).collect();
    let wanted: Vec<_> = kept.iter().map(|both| both.0).collect();
    ensure(pushed == wanted, || format!("{} at the start", pushed.join("; ")))
}

/// That the one instruction does all, as long as there are trips.
fn check_string(listing: &[Instruction], kernel: &MemoryKernel) -> Result<(), String> {
    let instruction = if kernel.reads == 0 { "rep stosb" } else { "rep movsb" };
    let [.., to, from, bytes, all, count, jump, _] = listing else {
        return Err("a kernel of less than seven instructions".to_owned());
    };
    let found = [to, from, bytes, all, count].map(text);
    let wanted = ["mov rdi,r11", "mov rsi,rdx", "mov rcx,r8", instruction, "dec r9"];
    let is_jump = jump.mnemonic() == Mnemonic::Jne && jump.near_branch_target() == to.ip();
    ensure(found == wanted && is_jump, || {
        format!("{}, claimed {}", found.join("; "), wanted.join("; "))
    })
}

fn listing_of(variant: &Variant) -> Vec<Instruction> {
    disassemble(variant.entry as *const ())
}

#[test]
fn every_listing_is_what_its_declaration_says() {
    for kernel in TABLE {
        for variant in kernel.variants {
            if let Err(wrong) = check(&listing_of(variant), kernel, variant) {
                panic!("memory kernel `{}`, variant `{}`: {wrong}", kernel.id, variant.id);
            }
        }
    }
}

#[test]
fn a_wrong_declaration_does_not_pass() {
    let of = |kernel: &MemoryKernel, id: &str| *kernel.variant(id).expect("it is there");
    let wrong = |id: &str, change: fn(&mut MemoryKernel, &mut Variant)| {
        let (mut kernel, mut variant) = (formulas::TRIAD, of(&formulas::TRIAD, id));
        let listing = listing_of(&variant);
        change(&mut kernel, &mut variant);
        check(&listing, &kernel, &variant).unwrap_err()
    };
    let flops = wrong("avx", |kernel, _| kernel.flops = 1);
    assert_eq!(flops, "16 instructions of arithmetic on 8 vectors");
    let reads = wrong("avx", |kernel, _| kernel.reads = 3);
    assert_eq!(reads, "Read of 2 arrays, claimed 3");
    let arrays = wrong("avx", |kernel, _| kernel.arrays = 2);
    assert!(arrays.starts_with("Read of {(RAX, Some(RDX)), (RAX, Some(RSI))}, claimed"));
    let in_place = wrong("avx", |kernel, _| kernel.in_place = true);
    assert!(in_place.starts_with("Read of {(RAX, Some(RDX))"), "{in_place}");
    let writes = wrong("avx", |kernel, _| kernel.writes = 0);
    assert!(writes.starts_with("Read of"), "{writes}");
    let stores = wrong("avx", |_, variant| variant.stores = Stores::NonTemporal);
    assert!(stores.ends_with("with non-temporal stores"), "{stores}");
    let stores = wrong("avx-nt", |_, variant| variant.stores = Stores::Ordinary);
    assert!(stores.starts_with("vmovntpd"), "{stores}");
    let narrow = wrong("avx", |_, variant| variant.width_bits = Some(128));
    assert!(narrow.ends_with("is wider than 128 bits"), "{narrow}");
    let wide = wrong("avx", |_, variant| variant.width_bits = Some(512));
    assert!(wide.ends_with("is not of 512 bits"), "{wide}");
    let needs = wrong("avx512", |_, variant| variant.needs = &[model::Isa::Avx]);
    assert!(needs.ends_with("needs AVX512F"), "{needs}");
    let block = wrong("avx", |_, variant| variant.shape.block_bytes = 128);
    assert_eq!(block, "add rax,100h; cmp rax,r8; add rax,80h; cmp rax,r8 is claimed");
    let streams = wrong("avx-2s", |_, variant| variant.shape.streams = 1);
    assert_eq!(streams, "trips that are made by mov rax,r11; mov r10,r8; dec r9");
    let ahead = wrong("avx-2s-pw", |_, variant| variant.lines_ahead = None);
    assert!(ahead.starts_with("prefetchw"), "{ahead}");
    let ahead = wrong("avx-2s-pw", |_, variant| variant.lines_ahead = Some(31));
    assert!(ahead.starts_with("[2048, 2112, 2176, 2240] are asked for"), "{ahead}");
    let ahead = wrong("avx-2s", |_, variant| variant.lines_ahead = Some(32));
    assert!(ahead.starts_with("[] are asked for"), "{ahead}");
}

#[test]
fn wrong_code_does_not_pass() {
    let variant = formulas::TRIAD.variant("avx-nt").expect("it is there");
    let good = listing_of(variant);
    let wrong = |change: &dyn Fn(&mut Vec<Instruction>)| {
        let mut listing = good.clone();
        change(&mut listing);
        check(&listing, &formulas::TRIAD, variant).unwrap_err()
    };
    let first = |mnemonic: Mnemonic| {
        good.iter().position(|one| one.mnemonic() == mnemonic).expect("it is there")
    };
    let without = |mnemonic: Mnemonic| {
        wrong(&|listing| listing.retain(|one| one.ip() != good[first(mnemonic)].ip()))
    };
    assert_eq!(
        without(Mnemonic::Sfence),
        "an end by vzeroupper; ret, claimed sfence; vzeroupper; ret"
    );
    assert_eq!(
        without(Mnemonic::Vzeroupper),
        "an end by sfence; ret, claimed sfence; vzeroupper; ret"
    );
    assert!(without(Mnemonic::Vmovntpd).starts_with("Write of [(32, 32)"));
    assert!(without(Mnemonic::Dec).starts_with("trips that are made by"));
    let load = first(Mnemonic::Vmulpd) - 1;
    let missing = wrong(&|listing| listing.retain(|one| one.ip() != good[load].ip()));
    assert!(missing.starts_with("Read of"), "{missing}");
    let twice = wrong(&|listing| listing[load] = listing[load - 1]);
    assert!(twice.starts_with("Read of"), "{twice}");
}

#[test]
fn strings_are_one_instruction() {
    let copy = formulas::COPY.variant("rep-movsb").expect("it is there");
    let listing = listing_of(copy);
    assert!(
        check(&listing, &formulas::STORE, copy).unwrap_err().contains("rep movsb; dec r9, claimed")
    );
    assert_eq!(listing.iter().filter(|one| one.has_rep_prefix()).count(), 1);
}
