//! Tells the crate how far it is optimised, which nothing else says.

fn main() {
    let level = std::env::var("OPT_LEVEL").unwrap_or_default();
    println!("cargo::rustc-env=CPUDYNO_KERNELS_OPT_LEVEL={level}");
    println!("cargo::rerun-if-changed=build.rs");
}
