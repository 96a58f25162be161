//! The advice held against machines that are only a text, whose best answer can be found by trying every one.

mod exhaustive;
mod threads;
