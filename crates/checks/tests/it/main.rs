//! Rows of the table against records made by hand.

mod rows;
mod states;
