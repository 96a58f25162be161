//! CPUID of the simulated machine, for a program that executes the instruction.
//!
//! Nothing that a library exports stands between a program and an instruction. So each CPUID in the code of
//! the program in memory becomes an instruction that is undefined, and the signal that comes of it has
//! the answer. The two bytes are looked for without decoding: this is for the one small program whose
//! code was seen to hold them nowhere else.

use std::sync::OnceLock;

use libc::{c_int, c_void, dl_phdr_info, size_t};
use sys::cpuid::Leaf;

/// CPUID, and the instruction that is undefined for ever (Intel SDM volume 2B, UD).
const CPUID: [u8; 2] = [0x0f, 0xa2];
const UD2: [u8; 2] = [0x0f, 0x0b];

/// What is answered, by leaf.
type Leaves = [(u32, Leaf); 3];

static LEAVES: OnceLock<Leaves> = OnceLock::new();

/// Replaces CPUID in the program that has loaded us.
pub(crate) fn replace(leaves: Leaves) {
    if LEAVES.set(leaves).is_err() {
        return;
    }
    // SAFETY: all zeros are a valid value of this structure.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = answer as *const () as usize;
    action.sa_flags = libc::SA_SIGINFO;
    // SAFETY: the handler has the form that SA_SIGINFO asks for.
    unsafe { libc::sigaction(libc::SIGILL, &raw const action, std::ptr::null_mut()) };
    // SAFETY: the callback has the form that is asked for, and takes no data.
    unsafe { libc::dl_iterate_phdr(Some(replace_in), std::ptr::null_mut()) };
}

/// Its parts in memory; the program itself comes first, and a number other than zero ends the list.
unsafe extern "C" fn replace_in(object: *mut dl_phdr_info, _: size_t, _: *mut c_void) -> c_int {
    // SAFETY: the loader hands over a valid structure.
    let object = unsafe { &*object };
    // SAFETY: the loader's structure says where the headers are, and how many.
    let parts =
        unsafe { std::slice::from_raw_parts(object.dlpi_phdr, usize::from(object.dlpi_phnum)) };
    for part in parts {
        if part.p_type == libc::PT_LOAD && part.p_flags & libc::PF_X != 0 {
            let begin = (object.dlpi_addr + part.p_vaddr) as usize;
            replace_between(begin, part.p_filesz as usize);
        }
    }
    1
}

fn replace_between(begin: usize, bytes: usize) {
    const PAGE: usize = 4096;
    let first = begin / PAGE * PAGE;
    let length = begin + bytes - first;
    let page = first as *mut c_void;
    let writable = libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC;
    // SAFETY: these pages are the program's code, which stays readable and executable.
    if unsafe { libc::mprotect(page, length, writable) } != 0 {
        return;
    }
    // SAFETY: the loader says that these bytes are there; no other thread has begun yet.
    let code = unsafe { std::slice::from_raw_parts_mut(begin as *mut u8, bytes) };
    let places: Vec<usize> =
        (1..code.len()).map(|end| end - 1).filter(|at| code[*at..*at + 2] == CPUID).collect();
    for at in places {
        code[at..at + 2].copy_from_slice(&UD2);
    }
    // SAFETY: as the pages were before.
    unsafe { libc::mprotect(page, length, libc::PROT_READ | libc::PROT_EXEC) };
}

/// Answers in place of the instruction, or lets the program end as it would have.
unsafe extern "C" fn answer(_: c_int, _: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel hands over the state of the interrupted thread.
    let context = unsafe { &mut *context.cast::<libc::ucontext_t>() };
    let registers = &mut context.uc_mcontext.gregs;
    let at = registers[libc::REG_RIP as usize] as *const [u8; 2];
    // SAFETY: the instruction that was executed just now is there.
    let is_ours = unsafe { *at } == UD2;
    let leaves = LEAVES.get().filter(|_| is_ours);
    let Some(leaves) = leaves else {
        // SAFETY: it has no conditions; the instruction is executed again, and ends the program.
        unsafe { libc::signal(libc::SIGILL, libc::SIG_DFL) };
        return;
    };
    let asked = registers[libc::REG_RAX as usize] as u32;
    let known = leaves.iter().find(|(leaf, _)| *leaf == asked);
    let leaf = known.map_or(Leaf { eax: 0, ebx: 0, ecx: 0, edx: 0 }, |(_, leaf)| *leaf);
    for (register, value) in [
        (libc::REG_RAX, leaf.eax),
        (libc::REG_RBX, leaf.ebx),
        (libc::REG_RCX, leaf.ecx),
        (libc::REG_RDX, leaf.edx),
    ] {
        registers[register as usize] = value.into();
    }
    registers[libc::REG_RIP as usize] += CPUID.len() as i64;
}
