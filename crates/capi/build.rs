//! Gives the shared library its name for the loader: its number grows when a program that was built before would no
//! longer find what it calls.

fn main() {
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libcpudyno.so.0");
    println!("cargo::rerun-if-changed=build.rs");
}
