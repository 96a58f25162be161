//! Memory to measure with: how much of it there is room for, and what it is made of.

mod backing;
mod room;

pub use self::backing::{Backing, BackingKind, BackingPart, backing, transparent_huge_pages};
pub use self::room::{Room, free_huge_pages, room, room_on_node, set_aside};
