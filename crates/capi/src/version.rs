//! What this library is.

use std::ffi::c_char;

use model::record::SCHEMA;

/// The version of cpudyno, such as "0.2.0"; do not free it.
#[unsafe(no_mangle)]
pub extern "C" fn cd_version() -> *const c_char {
    const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "\0");
    VERSION.as_ptr().cast()
}

/// The number of this interface: `CD_ABI_VERSION` of the header that it belongs to. It grows when a program that was
/// built with an older header would go wrong.
#[unsafe(no_mangle)]
pub extern "C" fn cd_abi_version() -> u32 {
    CD_ABI_VERSION
}

/// The number of this header's interface; `cd_abi_version()` is that of the library.
pub const CD_ABI_VERSION: u32 = 0;

/// The version of the records that it writes as JSON, as their field `schema` has it; do not free it.
#[unsafe(no_mangle)]
pub extern "C" fn cd_schema() -> *const c_char {
    const TEXT: &[u8] = SCHEMA.as_bytes();
    /// It ends with a zero.
    const FOR_C: [u8; TEXT.len() + 1] = {
        let mut bytes = [0; TEXT.len() + 1];
        let mut at = 0;
        while at < TEXT.len() {
            bytes[at] = TEXT[at];
            at += 1;
        }
        bytes
    };
    static KEPT: [u8; FOR_C.len()] = FOR_C;
    KEPT.as_ptr().cast()
}
