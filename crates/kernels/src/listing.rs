//! Reads the machine code of kernels back and holds it against their rows.
//!
//! The bytes that are decoded here are the ones that are timed elsewhere, after assembler and
//! linker, so what passes is a fact about the program and not about its source.

use std::iter;

use iced_x86::{
    CpuidFeature, Decoder, DecoderOptions, EncodingKind, FlowControl, Formatter, Instruction,
    InstructionInfoFactory, Mnemonic, NasmFormatter, OpAccess, OpKind, Register,
};
use model::Isa;

use crate::arithmetic::Arithmetic;
use crate::ruler::every_row;
use crate::{InLoop, Kind, MULTIPLIES_MAX, StreamRow, streams};

const CACHE_LINE: usize = 64;

/// What a row says about its listing.
#[derive(Clone)]
struct ListingClaim {
    mnemonic: &'static str,
    followers: &'static [&'static str],
    beside: Option<&'static str>,
    masked: bool,
    kind: Kind,
    chains: usize,
    ops: usize,
    /// Of the registers that ops work on.
    register_bits: u32,
    /// Of the register that the instruction beside the ops works on.
    beside_bits: Option<u32>,
    /// The number of the first chain's register, where it is one of the numbered ones.
    first_register: Option<u32>,
    needs: &'static [Isa],
    /// The ruler's multiplies behind the ops; 0 where there is no sled.
    sled: usize,
}

impl From<&InLoop> for ListingClaim {
    fn from(kernel: &InLoop) -> Self {
        let ops = kernel.ops_per_iteration() as usize;
        ListingClaim { ops, sled: MULTIPLIES_MAX as usize, ..ListingClaim::from(kernel.row) }
    }
}

impl From<&StreamRow> for ListingClaim {
    fn from(row: &StreamRow) -> Self {
        let scalar_bits = match row.kind {
            Kind::Spin => 32,
            _ if row.needs.is_empty() || row.beside.is_some() => 64,
            // One number in a vector register.
            _ => 128,
        };
        let tile_bits = row.needs.contains(&Isa::AmxTile).then_some(8192);
        let op_bits = row.width_bits.filter(|_| row.beside.is_none()).or(tile_bits);
        let numbered = op_bits.is_some() || scalar_bits == 128;
        let vector_op = row.beside.map_or(row.arithmetic, |beside| beside.arithmetic);
        ListingClaim {
            mnemonic: row.mnemonic,
            followers: row.followers,
            beside: row.beside.map(|beside| beside.mnemonic),
            masked: vector_op == Arithmetic::Merge,
            kind: row.kind,
            chains: row.chains as usize,
            ops: row.ops_per_iteration as usize,
            register_bits: op_bits.unwrap_or(scalar_bits),
            beside_bits: row.width_bits.filter(|_| row.beside.is_some()),
            first_register: numbered.then_some(row.first_register),
            needs: row.needs,
            sled: 0,
        }
    }
}

/// The instructions of a kernel, from its entry to its return.
pub(crate) fn disassemble(entry: *const ()) -> Vec<Instruction> {
    let address = entry as usize;
    assert_eq!(address % CACHE_LINE, 0, "a kernel begins inside a cache line");
    let line_at = |number: usize| entry.cast::<[u8; CACHE_LINE]>().wrapping_add(number);
    let mut bytes = Vec::new();
    for number in 0..100 {
        // SAFETY: code can be read, and no cache line crosses a page. The kernel reaches into this
        // line: it begins in the first one, and all former ones hold no return.
        bytes.extend(unsafe { line_at(number).read() });
        if let Some(listing) = decode(&bytes, address as u64) {
            return listing;
        }
    }
    panic!("BUG: a kernel without a return");
}

/// The instructions up to the first return, if there is one.
fn decode(bytes: &[u8], address: u64) -> Option<Vec<Instruction>> {
    let mut listing: Vec<_> =
        Decoder::with_ip(64, bytes, address, DecoderOptions::NONE).into_iter().collect();
    let end = listing.iter().position(|one| one.mnemonic() == Mnemonic::Ret)?;
    listing.truncate(end + 1);
    Some(listing)
}

/// Holds a listing against a claim; the error says what is wrong.
fn check(listing: &[Instruction], claim: &ListingClaim) -> Result<(), String> {
    if listing.iter().any(Instruction::is_invalid) {
        return Err("an instruction that is none".to_owned());
    }
    let is_backward = |one: &&Instruction| {
        one.flow_control() == FlowControl::ConditionalBranch && one.near_branch_target() < one.ip()
    };
    let backward: Vec<_> = listing.iter().filter(is_backward).collect();
    let jump = match (claim.kind, backward.as_slice()) {
        (Kind::Null, []) if listing.len() <= 2 => return Ok(()),
        (Kind::Null, _) => return Err("a null kernel that does something".to_owned()),
        (_, [jump]) => *jump,
        (_, several) => return Err(format!("{} backward jumps, not one", several.len())),
    };
    let head = jump.near_branch_target();
    if head % CACHE_LINE as u64 != 0 {
        return Err(format!("the loop head {head:#x} is not at the start of a cache line"));
    }
    let inside = |one: &&Instruction| (head..=jump.ip()).contains(&one.ip());
    let body: Vec<_> = listing.iter().filter(inside).copied().collect();
    let ([ops @ .., dec, _], Some(head_of_body)) = (body.as_slice(), body.first()) else {
        return Err("a loop of less than two instructions".to_owned());
    };
    if head_of_body.ip() != head {
        return Err("a jump into the middle of an instruction".to_owned());
    }
    let is_counter = dec.mnemonic() == Mnemonic::Dec && dec.op0_register() == Register::RDI;
    if !is_counter || jump.mnemonic() != Mnemonic::Jne {
        return Err("a loop that does not end with dec rdi and jnz".to_owned());
    }
    check_rights(listing, claim.needs)?;
    check_cleaning(listing, claim)?;
    let ops = match claim.sled {
        0 => ops,
        _ => without_sled(ops, listing, claim, dec.ip())?,
    };
    let is_beside = |one: &&Instruction| claim.beside == Some(&*name(one));
    let (beside, ops): (Vec<_>, Vec<_>) = ops.iter().partition(is_beside);
    check_beside(&beside, claim)?;
    check_ops(&ops, claim, jump.ip())?;
    check_chains(&ops, claim)?;
    check_width(listing, claim)
}

/// The ops in front of the sled, where behind them are a jump into it and as many multiplies as
/// claimed, of the length by which the jump's target was computed, up to the loop's counter.
fn without_sled<'a>(
    ops: &'a [Instruction],
    listing: &[Instruction],
    claim: &ListingClaim,
    end: u64,
) -> Result<&'a [Instruction], String> {
    const JUMP: &str = "jmp r8";
    const MULTIPLY: &str = "imul r10,r9";
    let is_jump = |one: &Instruction| text(one) == JUMP;
    let Some(at) = ops.iter().position(is_jump) else {
        return Err(format!("no {JUMP} behind the ops"));
    };
    // What fills the line behind the jump is never executed.
    let behind = ops[at + 1..].iter().skip_while(|one| one.mnemonic() == Mnemonic::Nop);
    let sled: Vec<_> = behind.collect();
    if let Some(other) = sled.iter().find(|one| text(one) != MULTIPLY || one.len() != 4) {
        return Err(format!("{} of {} bytes in the sled", text(other), other.len()));
    }
    if sled.len() != claim.sled {
        return Err(format!("{} multiplies, {} claimed", sled.len(), claim.sled));
    }
    let before: Vec<_> = listing.iter().take(5).map(text).collect();
    let (factor, start) = (Arithmetic::Product.factor_offset(), Arithmetic::Product.start_offset());
    let entering = [
        format!("lea r8,[rel {end:X}h]"),
        "shl rdx,2".to_owned(),
        "sub r8,rdx".to_owned(),
        format!("mov r9,[rsi+{factor:X}h]"),
        format!("mov r10,[rsi+{start:X}h]"),
    ];
    if before != entering {
        return Err(format!("a sled that is entered by {}", before.join("; ")));
    }
    let is_of_sled = |register| {
        [Register::R8, Register::R9, Register::R10].contains(&Register::full_register(register))
    };
    let ops_and_constants =
        listing.iter().skip(entering.len()).take_while(|one| one.ip() < ops[at].ip());
    match ops_and_constants.into_iter().find(|one| registers(one).any(is_of_sled)) {
        Some(one) => Err(format!("{} uses a register of the sled", text(one))),
        None => Ok(&ops[..at]),
    }
}

pub(crate) fn text(instruction: &Instruction) -> String {
    let mut text = String::new();
    NasmFormatter::new().format(instruction, &mut text);
    text
}

pub(crate) fn name(instruction: &Instruction) -> String {
    format!("{:?}", instruction.mnemonic()).to_lowercase()
}

/// That all instructions belong to the sets which the row needs, or to those of every CPU.
pub(crate) fn check_rights(listing: &[Instruction], needed: &[Isa]) -> Result<(), String> {
    let needs = |isa: Isa| needed.contains(&isa);
    let has_no_avx = |isa: &Isa| *isa == Isa::Sse2 || isa.name().starts_with("amx");
    let has_avx = !needed.iter().all(has_no_avx);
    let is_allowed = |feature: &CpuidFeature| match feature {
        CpuidFeature::INTEL8086
        | CpuidFeature::INTEL386
        | CpuidFeature::X64
        | CpuidFeature::PAUSE
        | CpuidFeature::PREFETCHW
        | CpuidFeature::MULTIBYTENOP => true,
        CpuidFeature::SSE | CpuidFeature::SSE2 => !needed.is_empty(),
        CpuidFeature::AVX => has_avx,
        CpuidFeature::AVX2 => needs(Isa::Avx2) || needs(Isa::Avx512f),
        CpuidFeature::FMA => needs(Isa::Fma),
        CpuidFeature::AVX512F => needs(Isa::Avx512f),
        CpuidFeature::AVX512CD => needs(Isa::Avx512cd),
        CpuidFeature::AVX512BW => needs(Isa::Avx512bw),
        CpuidFeature::AVX512VL => needs(Isa::Avx512vl),
        CpuidFeature::AVX512_IFMA => needs(Isa::Avx512ifma),
        CpuidFeature::AVX512_VNNI => needs(Isa::Avx512Vnni),
        CpuidFeature::AVX512_BF16 => needs(Isa::Avx512Bf16),
        CpuidFeature::AVX512_FP16 => needs(Isa::Avx512Fp16),
        CpuidFeature::AVX_VNNI => needs(Isa::AvxVnni),
        CpuidFeature::AVX_VNNI_INT8 => needs(Isa::AvxVnniInt8),
        CpuidFeature::AVX_VNNI_INT16 => needs(Isa::AvxVnniInt16),
        CpuidFeature::WAITPKG => needs(Isa::Waitpkg),
        CpuidFeature::MONITORX => needs(Isa::Mwaitx),
        CpuidFeature::AMX_TILE => needs(Isa::AmxTile),
        CpuidFeature::AMX_INT8 => needs(Isa::AmxInt8),
        CpuidFeature::AMX_BF16 => needs(Isa::AmxBf16),
        CpuidFeature::AMX_FP16 => needs(Isa::AmxFp16),
        _ => false,
    };
    for one in listing {
        if let Some(feature) = one.cpuid_features().iter().find(|feature| !is_allowed(feature)) {
            return Err(format!("{} needs {feature:?}", name(one)));
        }
    }
    Ok(())
}

/// That tiles are released and upper halves of registers are zero at the return, where something may
/// have changed them.
fn check_cleaning(listing: &[Instruction], claim: &ListingClaim) -> Result<(), String> {
    let is_legacy = |one: &Instruction| one.code().encoding() == EncodingKind::Legacy;
    if listing.iter().all(is_legacy) {
        return Ok(());
    }
    let [before @ .., vzeroupper, _] = listing else {
        return Err("a kernel of less than three instructions".to_owned());
    };
    let Some(last) = before.last() else {
        return Err("a kernel of less than three instructions".to_owned());
    };
    if claim.needs.contains(&Isa::AmxTile) {
        // What is left to do behind the release is to give the stack back.
        let released = [last, vzeroupper].map(text) == ["tilerelease", "mov rsp,r11"];
        return if released { Ok(()) } else { Err("tiles that are not released".to_owned()) };
    }
    if vzeroupper.mnemonic() != Mnemonic::Vzeroupper {
        return Err("no vzeroupper before the return".to_owned());
    }
    let reached = |register: Register| register.is_vector_register() && register.number() < 16;
    let beyond: Vec<_> = listing
        .iter()
        .map(Instruction::op0_register)
        .filter(|&register| register.is_vector_register() && !reached(register))
        .map(Register::full_register)
        .collect();
    let is_zeroing = |one: &&Instruction| one.mnemonic() == Mnemonic::Vpxord && is_zero_idiom(one);
    let zeroing = before.iter().rev().take_while(is_zeroing);
    let zeroed: Vec<_> = zeroing.map(|one| one.op0_register().full_register()).collect();
    if beyond.iter().all(|register| zeroed.contains(register)) {
        Ok(())
    } else {
        Err(format!("a register beyond 15 is left as it is, claimed {:?}", claim.first_register))
    }
}

/// That nothing around the loop is wider than what is in it: one wide instruction is enough for a
/// CPU to lower its clock. Dirty upper halves are made on purpose.
fn check_width(listing: &[Instruction], claim: &ListingClaim) -> Result<(), String> {
    let widest = claim.register_bits.max(claim.beside_bits.unwrap_or(0)).max(128);
    let is_wide = |register: Register| (register.size() * 8) as u32 > widest;
    match listing.iter().find(|one| registers(one).any(is_wide)) {
        Some(one) if claim.followers.is_empty() => {
            Err(format!("{} is wider than {widest} bits", name(one)))
        }
        _ => Ok(()),
    }
}

pub(crate) fn registers(instruction: &Instruction) -> impl Iterator<Item = Register> {
    (0..instruction.op_count()).map(|number| instruction.op_register(number))
}

/// Whether all operands are one register.
fn is_zero_idiom(instruction: &Instruction) -> bool {
    registers(instruction).all(|register| register == instruction.op0_register())
}

/// That operands are registers of so many bits.
fn check_registers(instruction: &Instruction, bits: u32) -> Result<(), String> {
    for number in 0..instruction.op_count() {
        if instruction.op_kind(number) != OpKind::Register {
            return Err("an operand that is no register".to_owned());
        }
    }
    for register in registers(instruction) {
        let found = (register.size() * 8) as u32;
        if found != bits {
            return Err(format!("registers of {found} bits"));
        }
    }
    Ok(())
}

/// The instruction beside the ops: one where it is claimed.
fn check_beside(beside: &[&Instruction], claim: &ListingClaim) -> Result<(), String> {
    match (claim.beside, beside) {
        (None, _) => Ok(()),
        (Some(_), [one]) => {
            check_registers(one, claim.beside_bits.unwrap_or(0))?;
            check_mask(one, claim.masked)
        }
        (Some(mnemonic), several) => Err(format!("{} {mnemonic}, not one", several.len())),
    }
}

fn check_mask(instruction: &Instruction, masked: bool) -> Result<(), String> {
    if instruction.has_op_mask() == masked {
        return Ok(());
    }
    Err(format!("{} {} a mask", name(instruction), if masked { "without" } else { "with" }))
}

/// The number of ops, that there is nothing else, and the registers that they work on.
fn check_ops(ops: &[&Instruction], claim: &ListingClaim, end: u64) -> Result<(), String> {
    let of_one_op = iter::once(&claim.mnemonic).chain(claim.followers);
    for (one, &expected) in ops.iter().zip(of_one_op.cycle()) {
        if name(one) != expected {
            return Err(format!("{} in the loop of {}", name(one), claim.mnemonic));
        }
        if one.flow_control() == FlowControl::ConditionalBranch {
            if one.near_branch_target() <= end {
                return Err("a branch that stays in the loop".to_owned());
            }
            continue;
        }
        check_registers(one, claim.register_bits)?;
        check_mask(one, claim.masked && claim.beside.is_none())?;
    }
    let per_op = 1 + claim.followers.len();
    if ops.len() == claim.ops * per_op {
        Ok(())
    } else if per_op == 1 {
        Err(format!("{} ops in the loop, {} claimed", ops.len(), claim.ops))
    } else {
        Err(format!("{} instructions, {} ops of {per_op} claimed", ops.len(), claim.ops))
    }
}

/// The number of chains, and that each op waits for the former one of its chain and for no other;
/// or for none at all, where it is done when it is renamed.
fn check_chains(instructions: &[&Instruction], claim: &ListingClaim) -> Result<(), String> {
    if claim.kind == Kind::Spin {
        return Ok(());
    }
    let ops: Vec<_> = instructions.chunks(1 + claim.followers.len()).collect();
    let mut factory = InstructionInfoFactory::new();
    let mut destinations: Vec<_> = ops.iter().map(|op| op[0].op0_register()).collect();
    destinations.sort();
    destinations.dedup();
    if destinations.len() != claim.chains {
        return Err(format!("{} chains, {} claimed", destinations.len(), claim.chains));
    }
    if let Some(first) = claim.first_register
        && !destinations.iter().zip(first..).all(|(one, number)| one.number() == number as usize)
    {
        return Err(format!("chains that are not in the registers from {first} on"));
    }
    for (number, &op) in ops.iter().enumerate() {
        let (op, followers) = (op[0], &op[1..]);
        let own = op.op0_register();
        if claim.kind == Kind::Rename && is_zero_idiom(op) {
            continue;
        }
        let info = factory.info(op);
        let is_read = |access| matches!(access, OpAccess::Read | OpAccess::ReadWrite);
        let operands = (0..op.op_count()).filter(|&number| is_read(info.op_access(number)));
        let read: Vec<_> = operands.map(|number| op.op_register(number)).collect();
        let waits_for: Vec<_> = destinations.iter().filter(|one| read.contains(one)).collect();
        if waits_for != [&own] || claim.kind == Kind::Rename {
            return Err(format!("op {number} does not continue its own chain alone"));
        }
        if followers.first().is_some_and(|one| one.op0_register() != own) {
            return Err(format!("what follows op {number} does not look at it"));
        }
        // Chains take turns: no two ops of one chain are closer than the number of chains.
        if number >= claim.chains && ops[number - claim.chains][0].op0_register() != own {
            return Err(format!("op {number} is out of turn"));
        }
    }
    Ok(())
}

#[test]
fn every_listing_is_what_its_row_says() {
    for row in every_row() {
        let listing = disassemble(row.entry as *const ());
        if let Err(wrong) = check(&listing, &ListingClaim::from(row)) {
            panic!("stream `{}`: {wrong}", row.id);
        }
    }
}

#[test]
fn every_kernel_with_the_ruler_in_its_loop_is_what_it_says() {
    for kernel in every_row().flat_map(|row| row.in_loop) {
        let listing = disassemble(kernel.entry as *const ());
        if let Err(wrong) = check(&listing, &ListingClaim::from(kernel)) {
            panic!("stream `{}` with {} ops: {wrong}", kernel.row.id, kernel.ops_per_iteration());
        }
    }
}

#[test]
fn a_wrong_sled_does_not_pass() {
    let kernel = &streams::fma::AVX256_FMA.in_loop[0];
    let good = disassemble(kernel.entry as *const ());
    let claim = ListingClaim::from(kernel);
    let wrong = |listing: &[Instruction], change: fn(&mut ListingClaim)| {
        let mut claim = claim.clone();
        change(&mut claim);
        check(listing, &claim).unwrap_err()
    };
    assert_eq!(wrong(&good, |claim| claim.ops = 5), "6 ops in the loop, 5 claimed");
    assert_eq!(wrong(&good, |claim| claim.sled = 63), "64 multiplies, 63 claimed");
    assert_eq!(wrong(&good, |claim| claim.sled = 0), "jmp in the loop of vfmadd132pd");
    let plain = disassemble(streams::fma::AVX256_FMA.entry as *const ());
    assert_eq!(wrong(&plain, |_| ()), "no jmp r8 behind the ops");
    let without = |gone: usize| {
        let mut listing = good.clone();
        listing.remove(gone);
        wrong(&listing, |_| ())
    };
    let last = good.iter().rposition(|one| text(one) == "imul r10,r9").expect("there is a sled");
    assert_eq!(without(last), "63 multiplies, 64 claimed");
    assert!(without(1).starts_with("a sled that is entered by lea"), "{}", without(1));
    let mut late = good.clone();
    late[0] = plain[0];
    assert!(wrong(&late, |_| ()).starts_with("a sled that is entered by vbroadcastsd"));
    // xor r9d, r9d
    let xor = decode(&[0x45, 0x31, 0xC9, 0xC3], good[5].ip()).expect("there is a return")[0];
    let mut cleared = good.clone();
    cleared.insert(5, xor);
    assert_eq!(wrong(&cleared, |_| ()), "xor r9d,r9d uses a register of the sled");
    // imul r10, r9, 3
    let short = [0x4D, 0x6B, 0xD1, 0x03, 0xC3];
    let mut other = good.clone();
    other[last] = decode(&short, good[last].ip()).expect("there is a return")[0];
    assert_eq!(wrong(&other, |_| ()), "imul r10,r9,3 of 4 bytes in the sled");
}

#[test]
fn a_wrong_row_does_not_pass() {
    let wrong = |row: &StreamRow, change: fn(&mut ListingClaim)| {
        let mut claim = ListingClaim::from(row);
        change(&mut claim);
        check(&disassemble(row.entry as *const ()), &claim).unwrap_err()
    };
    let fma = &streams::fma::AVX512_FMA_T;
    assert_eq!(wrong(fma, |claim| claim.ops = 99), "100 ops in the loop, 99 claimed");
    assert_eq!(wrong(fma, |claim| claim.chains = 1), "10 chains, 1 claimed");
    assert_eq!(wrong(fma, |claim| claim.register_bits = 256), "registers of 512 bits");
    assert_eq!(wrong(fma, |claim| claim.needs = &[Isa::Avx]), "vbroadcastsd needs AVX512F");
    let serial = &streams::fma::AVX512_FMA;
    assert_eq!(wrong(serial, |claim| claim.chains = 10), "1 chains, 10 claimed");
    let mnemonic = wrong(serial, |claim| claim.mnemonic = "vmulpd");
    assert_eq!(mnemonic, "vfmadd132pd in the loop of vmulpd");
    let null = wrong(serial, |claim| claim.kind = Kind::Null);
    assert_eq!(null, "a null kernel that does something");
    let vex = &streams::dot::AVX128_VNNI_VEX;
    assert_eq!(wrong(vex, |claim| claim.needs = &[Isa::Avx512f]), "vpdpbusd needs AVX_VNNI");
    let sixteen = &streams::integer::AVX128_IADD16;
    let register = wrong(sixteen, |claim| claim.first_register = Some(0));
    assert_eq!(register, "chains that are not in the registers from 0 on");
    let zero = &streams::moves::AVX256_XOR_ZERO;
    assert_eq!(wrong(zero, |claim| claim.chains = 10), "1 chains, 10 claimed");
    let tile = &streams::tiles::AMX_BF16_T;
    assert_eq!(wrong(tile, |claim| claim.ops = 23), "24 ops in the loop, 23 claimed");
    assert_eq!(wrong(tile, |claim| claim.chains = 7), "6 chains, 7 claimed");
    let int8 = wrong(tile, |claim| claim.needs = &[Isa::AmxTile, Isa::AmxInt8, Isa::Avx512f]);
    assert_eq!(int8, "tdpbf16ps needs AMX_BF16");
    let rename = wrong(serial, |claim| claim.kind = Kind::Rename);
    assert_eq!(rename, "op 0 does not continue its own chain alone");
}

#[test]
fn a_wrong_row_of_scalar_ops_does_not_pass() {
    let wrong = |row: &StreamRow, change: fn(&mut ListingClaim)| {
        let mut claim = ListingClaim::from(row);
        change(&mut claim);
        check(&disassemble(row.entry as *const ()), &claim).unwrap_err()
    };
    let merge = &streams::sparse::AVX256_MERGE_SPARSE;
    assert_eq!(wrong(merge, |claim| claim.ops = 99), "100 ops in the loop, 99 claimed");
    assert_eq!(wrong(merge, |claim| claim.masked = false), "vmovdqa32 with a mask");
    assert_eq!(wrong(merge, |claim| claim.beside_bits = Some(512)), "registers of 256 bits");
    assert_eq!(wrong(merge, |claim| claim.beside = Some("vmovdqa")), "0 vmovdqa, not one");
    assert_eq!(wrong(merge, |claim| claim.beside = None), "vmovdqa32 in the loop of add");
    let moved = &streams::sparse::AVX256_MOV_SPARSE;
    assert_eq!(wrong(moved, |claim| claim.masked = true), "vmovdqa without a mask");
    let dirty = &streams::float::UCOMIS_DIRTY;
    assert_eq!(wrong(dirty, |claim| claim.ops = 99), "300 instructions, 99 ops of 3 claimed");
    assert_eq!(wrong(dirty, |claim| claim.followers = &[]), "ucomisd in the loop of addsd");
    let branch = wrong(dirty, |claim| claim.followers = &["ucomisd", "ja"]);
    assert_eq!(branch, "jp in the loop of addsd");
}

/// A claim of scalar adds in one chain.
const ADDS: ListingClaim = ListingClaim {
    mnemonic: "add",
    followers: &[],
    beside: None,
    masked: false,
    kind: Kind::Latency,
    chains: 1,
    ops: 3,
    register_bits: 64,
    beside_bits: None,
    first_register: None,
    needs: &[],
    sled: 0,
};

/// Three additions of r11 to rax in a loop, assembled by hand, held against a claim of such adds.
fn check_by_hand(bytes: &[u8], address: u64, ops: usize) -> Result<(), String> {
    let claim = ListingClaim { ops, ..ADDS };
    check(&decode(bytes, address).ok_or("no return")?, &claim)
}

#[test]
fn the_checker_tells_good_code_from_bad() {
    const ADD: [u8; 3] = [0x4C, 0x01, 0xD8]; // add rax, r11
    const ADD_OTHER: [u8; 3] = [0x4C, 0x01, 0xD9]; // add rcx, r11
    const ADD_SELF: [u8; 3] = [0x48, 0x01, 0xC0]; // add rax, rax
    const ADD_ONE: [u8; 4] = [0x48, 0x83, 0xC0, 0x01]; // add rax, 1
    const NOP: [u8; 3] = [0x0F, 0x1F, 0x00];
    const DEC: [u8; 3] = [0x48, 0xFF, 0xCF]; // dec rdi
    let kernel = |body: &[&[u8]]| {
        let mut bytes = body.concat();
        bytes.extend(DEC);
        let back = -(bytes.len() as i8 + 2);
        bytes.extend([0x75, back.cast_unsigned(), 0xC3]); // jnz to the first byte; ret
        bytes
    };
    let good = kernel(&[&ADD, &ADD, &ADD]);
    assert_eq!(check_by_hand(&good, 0x1000, 3), Ok(()));
    let error = |bytes: &[u8]| check_by_hand(bytes, 0x1000, 3).unwrap_err();
    assert_eq!(check_by_hand(&good, 0x1000, 4).unwrap_err(), "3 ops in the loop, 4 claimed");
    let unaligned = check_by_hand(&good, 0x1010, 3).unwrap_err();
    assert_eq!(unaligned, "the loop head 0x1010 is not at the start of a cache line");
    assert_eq!(error(&kernel(&[&ADD, &ADD])), "2 ops in the loop, 3 claimed");
    assert_eq!(error(&kernel(&[&ADD, &ADD_OTHER, &ADD])), "2 chains, 1 claimed");
    assert_eq!(error(&kernel(&[&ADD, &ADD, &ADD_ONE])), "an operand that is no register");
    assert_eq!(error(&kernel(&[&ADD, &NOP, &ADD])), "nop in the loop of add");
    assert_eq!(error(&[0xC3]), "0 backward jumps, not one");
    // Doubling reads its own chain only, so the listing allows it: the answer is what refuses it.
    assert_eq!(check_by_hand(&kernel(&[&ADD, &ADD_SELF, &ADD]), 0x1000, 3), Ok(()));
    let two_counters = kernel(&[&ADD, &ADD, &ADD, &DEC]);
    assert_eq!(error(&two_counters), "dec in the loop of add");
}

#[test]
fn chains_that_mix_are_refused() {
    // vfmadd132pd xmm0, xmm1, xmm1 and vfmadd132pd xmm1, xmm0, xmm0: two chains, each reading the
    // other.
    let bytes = [
        0xC4, 0xE2, 0xF1, 0x98, 0xC1, 0xC4, 0xE2, 0xF9, 0x98, 0xC8, 0x48, 0xFF, 0xCF, 0x75, 0xF1,
        0xC5, 0xF8, 0x77, 0xC3,
    ];
    let listing = decode(&bytes, 0).expect("there is a return");
    let claim = ListingClaim {
        mnemonic: "vfmadd132pd",
        kind: Kind::Throughput,
        chains: 2,
        ops: 2,
        register_bits: 128,
        needs: &[Isa::Fma],
        ..ADDS
    };
    let mixed = check(&listing, &claim);
    assert_eq!(mixed.unwrap_err(), "op 0 does not continue its own chain alone");
}

#[test]
fn more_than_a_zero_idiom_is_refused() {
    const XOR_WIDE: [u8; 4] = [0xC5, 0xFD, 0xEF, 0xC0]; // vpxor ymm0, ymm0, ymm0
    // vpxor xmm0, xmm0, and a source of its own, in a loop; something behind it; vzeroupper; ret.
    let kernel = |source: u8, behind: &[u8]| {
        let bytes = [
            &[0xC5, 0xF9, 0xEF, 0xC0 | source],
            [0x48, 0xFF, 0xCF, 0x75, 0xF7].as_slice(),
            behind,
            &[0xC5, 0xF8, 0x77, 0xC3],
        ];
        decode(&bytes.concat(), 0).expect("there is a return")
    };
    let claim = ListingClaim {
        mnemonic: "vpxor",
        kind: Kind::Rename,
        ops: 1,
        register_bits: 128,
        first_register: Some(0),
        needs: &[Isa::Avx],
        ..ADDS
    };
    assert_eq!(check(&kernel(0, &[]), &claim), Ok(()));
    let toggling = check(&kernel(1, &[]), &claim);
    assert_eq!(toggling.unwrap_err(), "op 0 does not continue its own chain alone");
    let claim = ListingClaim { needs: &[Isa::Avx2], ..claim };
    let wide = check(&kernel(0, &XOR_WIDE), &claim);
    assert_eq!(wide.unwrap_err(), "vpxor is wider than 128 bits");
}

#[test]
fn triples_that_are_none_are_refused() {
    const ADD: [u8; 4] = [0xF2, 0x0F, 0x58, 0xC1]; // addsd xmm0, xmm1
    const COMPARE: [u8; 4] = [0x66, 0x0F, 0x2E, 0xC1]; // ucomisd xmm0, xmm1
    const COMPARE_OTHER: [u8; 4] = [0x66, 0x0F, 0x2E, 0xCA]; // ucomisd xmm1, xmm2
    const OUT: [u8; 2] = [0x7A, 0x05]; // jp behind the loop
    const ON: [u8; 2] = [0x7A, 0x00]; // jp to the next instruction
    let checked = |compare: [u8; 4], branch: [u8; 2]| {
        let end = [0x48, 0xFF, 0xCF, 0x75, 0xF1, 0xC3]; // dec rdi; jnz to the first byte; ret
        let bytes = [ADD.as_slice(), &compare, &branch, &end].concat();
        let claim = ListingClaim {
            mnemonic: "addsd",
            followers: &["ucomisd", "jp"],
            ops: 1,
            register_bits: 128,
            first_register: Some(0),
            needs: &[Isa::Sse2],
            ..ADDS
        };
        check(&decode(&bytes, 0).expect("there is a return"), &claim)
    };
    assert_eq!(checked(COMPARE, OUT), Ok(()));
    assert_eq!(checked(COMPARE, ON).unwrap_err(), "a branch that stays in the loop");
    let unrelated = checked(COMPARE_OTHER, OUT).unwrap_err();
    assert_eq!(unrelated, "what follows op 0 does not look at it");
}
