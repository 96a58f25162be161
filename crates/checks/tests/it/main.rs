//! Rows of the table against records made by hand.

mod machines;
mod page;
mod rows;
mod states;
