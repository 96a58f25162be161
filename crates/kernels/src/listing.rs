//! Reads the machine code of kernels back and holds it against their rows.
//!
//! The bytes that are decoded here are the ones that are timed elsewhere, after assembler and
//! linker, so what passes is a fact about the program and not about its source.

use iced_x86::{
    Decoder, DecoderOptions, FlowControl, Instruction, InstructionInfoFactory, Mnemonic, OpAccess,
    OpKind, Register,
};

use crate::ruler::every_row;
use crate::stream::KernelFn;
use crate::{Kind, StreamRow, streams};

const CACHE_LINE: usize = 64;

/// What a row says about its listing.
struct Claim {
    mnemonic: &'static str,
    kind: Kind,
    chains: usize,
    ops: usize,
    width_bits: Option<u32>,
}

impl From<&StreamRow> for Claim {
    fn from(row: &StreamRow) -> Self {
        Claim {
            mnemonic: row.mnemonic,
            kind: row.kind,
            chains: row.chains as usize,
            ops: row.ops_per_iteration as usize,
            width_bits: row.width_bits,
        }
    }
}

/// The instructions of a kernel, from its entry to its return.
fn disassemble(entry: KernelFn) -> Vec<Instruction> {
    let address = entry as *const () as usize;
    assert_eq!(address % CACHE_LINE, 0, "a kernel begins inside a cache line");
    let line_at = |number: usize| (entry as *const [u8; CACHE_LINE]).wrapping_add(number);
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
fn check(listing: &[Instruction], claim: &Claim) -> Result<(), String> {
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
    if claim.width_bits.is_some() && !leaves_clean_registers(listing) {
        return Err("no vzeroupper before the return".to_owned());
    }
    check_ops(ops, claim)?;
    check_chains(ops, claim)
}

fn leaves_clean_registers(listing: &[Instruction]) -> bool {
    let before_return = listing.iter().nth_back(1);
    before_return.is_some_and(|one| one.mnemonic() == Mnemonic::Vzeroupper)
}

/// The number of ops, that there is nothing else, and the registers that they work on.
fn check_ops(ops: &[Instruction], claim: &Claim) -> Result<(), String> {
    for op in ops {
        let mnemonic = format!("{:?}", op.mnemonic()).to_lowercase();
        if mnemonic != claim.mnemonic {
            return Err(format!("{mnemonic} in the loop of {}", claim.mnemonic));
        }
        for number in 0..op.op_count() {
            if op.op_kind(number) != OpKind::Register {
                return Err("an operand that is no register".to_owned());
            }
            let bits = (op.op_register(number).size() * 8) as u32;
            if bits != claim.width_bits.unwrap_or(64) {
                return Err(format!("registers of {bits} bits"));
            }
        }
    }
    if ops.len() == claim.ops {
        Ok(())
    } else {
        Err(format!("{} ops in the loop, {} claimed", ops.len(), claim.ops))
    }
}

/// The number of chains, and that each op waits for the former one of its chain and for no other.
fn check_chains(ops: &[Instruction], claim: &Claim) -> Result<(), String> {
    if claim.kind == Kind::Spin {
        return Ok(());
    }
    let mut factory = InstructionInfoFactory::new();
    let mut destinations: Vec<_> = ops.iter().map(Instruction::op0_register).collect();
    destinations.sort();
    destinations.dedup();
    if destinations.len() != claim.chains {
        return Err(format!("{} chains, {} claimed", destinations.len(), claim.chains));
    }
    for (number, op) in ops.iter().enumerate() {
        let info = factory.info(op);
        let is_read = |access| matches!(access, OpAccess::Read | OpAccess::ReadWrite);
        let operands = (0..op.op_count()).filter(|&number| is_read(info.op_access(number)));
        let read: Vec<_> = operands.map(|number| op.op_register(number)).collect();
        let waits_for: Vec<_> = destinations.iter().filter(|one| read.contains(one)).collect();
        if waits_for != [&op.op0_register()] {
            return Err(format!("op {number} does not continue its own chain alone"));
        }
        // Chains take turns: no two ops of one chain are closer than the number of chains.
        if number >= claim.chains && ops[number - claim.chains].op0_register() != op.op0_register()
        {
            return Err(format!("op {number} is out of turn"));
        }
    }
    Ok(())
}

#[test]
fn every_listing_is_what_its_row_says() {
    for row in every_row() {
        let listing = disassemble(row.entry);
        if let Err(wrong) = check(&listing, &Claim::from(row)) {
            panic!("stream `{}`: {wrong}", row.id);
        }
    }
}

#[test]
fn a_wrong_row_does_not_pass() {
    let wrong = |row: &StreamRow, change: fn(&mut Claim)| {
        let mut claim = Claim::from(row);
        change(&mut claim);
        check(&disassemble(row.entry), &claim).unwrap_err()
    };
    let fma = &streams::fma::AVX512_FMA_T;
    assert_eq!(wrong(fma, |claim| claim.ops = 99), "100 ops in the loop, 99 claimed");
    assert_eq!(wrong(fma, |claim| claim.chains = 1), "10 chains, 1 claimed");
    assert_eq!(wrong(fma, |claim| claim.width_bits = Some(256)), "registers of 512 bits");
    let serial = &streams::fma::AVX512_FMA;
    assert_eq!(wrong(serial, |claim| claim.chains = 10), "1 chains, 10 claimed");
    let mnemonic = wrong(serial, |claim| claim.mnemonic = "vmulpd");
    assert_eq!(mnemonic, "vfmadd132pd in the loop of vmulpd");
    let null = wrong(serial, |claim| claim.kind = Kind::Null);
    assert_eq!(null, "a null kernel that does something");
}

/// Three additions of r11 to rax in a loop, assembled by hand, held against a claim of such adds.
fn check_by_hand(bytes: &[u8], address: u64, ops: usize) -> Result<(), String> {
    let claim = Claim { mnemonic: "add", kind: Kind::Latency, chains: 1, ops, width_bits: None };
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
    let claim = Claim {
        mnemonic: "vfmadd132pd",
        kind: Kind::Throughput,
        chains: 2,
        ops: 2,
        width_bits: Some(128),
    };
    let mixed = check(&listing, &claim);
    assert_eq!(mixed.unwrap_err(), "op 0 does not continue its own chain alone");
}
