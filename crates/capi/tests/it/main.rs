//! The library as programs see it: the header, and programs in C that use it well and badly.

mod header;
mod installed;
mod programs;
