//! Laws of the words that everybody uses.

mod paired;
