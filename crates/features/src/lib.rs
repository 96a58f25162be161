//! Nothing but a manifest: the features with which foreign crates are built, whichever part is built.

#![forbid(unsafe_code)]
