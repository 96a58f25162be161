//! Rows of the table against records made by hand.

mod page;
mod rows;
mod states;
