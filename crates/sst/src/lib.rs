//! Intel Speed Select: what the firmware offers, read through both interfaces of the kernel.
#![forbid(unsafe_code)]
