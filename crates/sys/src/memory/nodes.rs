//! On which memory node the pages of a mapping are.

use std::io;
use std::ptr;

use super::{Mapping, base_page_bytes};

impl Mapping {
    /// Lets the pages come from this node and from no other (mbind(2), `MPOL_BIND`); before the
    /// first touch, since pages that are there stay where they are.
    ///
    /// A node without room for all of them ends the process when they are touched: ask
    /// before. The kernel answers `EINVAL` for nodes that it or the cpuset does not have, and
    /// `ENOSYS` where it was built without nodes.
    pub fn bind(&mut self, node: u32) -> io::Result<()> {
        const MPOL_BIND: libc::c_int = 2;
        /// The kernel reads no mask longer than a page.
        const BITS_PER_BYTE: usize = 8;
        let node = node as usize;
        if node >= base_page_bytes() * BITS_PER_BYTE {
            return Err(io::Error::from_raw_os_error(libc::EINVAL));
        }
        let mask = mask(node);
        // The kernel reads one bit less than it is told (`get_nodes` in its `mm/mempolicy.c`).
        let bits = mask.len() * u64::BITS as usize + 1;
        let flags = 0;
        // SAFETY: the kernel reads the bits of the mask, which the vector owns, and the range is
        // the mapping's own.
        let done = unsafe {
            libc::syscall(
                libc::SYS_mbind,
                self.pointer(),
                self.bytes(),
                MPOL_BIND,
                mask.as_ptr(),
                bits,
                flags,
            )
        };
        if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    /// The nodes of at most `count` pages, spread evenly from the first on (move_pages(2), which
    /// moves none of them here). A page that nobody has touched is on no node: `ENOENT`.
    pub fn nodes_of_sample(&self, count: usize) -> io::Result<Vec<io::Result<u32>>> {
        let there = self.bytes() / self.step();
        let count = count.min(there);
        let page = |index: usize| {
            // Counts of pages are far below the square root of all addresses.
            let offset = (index as u128 * there as u128 / count as u128) as usize * self.step();
            self.pointer().wrapping_byte_add(offset)
        };
        let mut pages: Vec<*mut libc::c_void> = (0..count).map(page).collect();
        let mut nodes = vec![0i32; count];
        let (this_process, no_targets, flags) = (0, ptr::null::<libc::c_int>(), 0);
        // SAFETY: the kernel reads `count` addresses and writes `count` answers; both vectors have
        // as many. It does not touch what is there.
        let done = unsafe {
            libc::syscall(
                libc::SYS_move_pages,
                this_process,
                count,
                pages.as_mut_ptr(),
                no_targets,
                nodes.as_mut_ptr(),
                flags,
            )
        };
        if done < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(nodes.into_iter().map(node_or_error).collect())
    }
}

/// A mask of nodes with one bit.
fn mask(node: usize) -> Vec<u64> {
    let bits = u64::BITS as usize;
    let mut mask = vec![0u64; node / bits + 1];
    mask[node / bits] = 1 << (node % bits);
    mask
}

/// The kernel answers a node, or the negative code of an error.
fn node_or_error(answer: i32) -> io::Result<u32> {
    u32::try_from(answer).map_err(|_| io::Error::from_raw_os_error(answer.wrapping_neg()))
}

#[cfg(test)]
mod tests {
    use model::Pages;

    use super::super::skipped;
    use super::*;

    #[test]
    fn masks_reach_beyond_64_nodes() {
        assert_eq!(mask(0), [1]);
        assert_eq!(mask(63), [1 << 63]);
        assert_eq!(mask(64), [0, 1]);
        assert_eq!(mask(130), [0, 0, 4]);
    }

    #[test]
    fn answers_below_zero_are_errors() {
        assert_eq!(node_or_error(70).unwrap(), 70);
        assert_eq!(node_or_error(-libc::ENOENT).unwrap_err().raw_os_error(), Some(libc::ENOENT));
    }

    /// The first node that has memory, as sysfs says.
    fn a_node() -> Option<u32> {
        let nodes = std::fs::read_to_string("/sys/devices/system/node/has_memory").ok()?;
        let digits: String = nodes.chars().take_while(char::is_ascii_digit).collect();
        digits.parse().ok()
    }

    #[test]
    fn pages_are_on_the_node_that_they_were_bound_to() {
        let mut mapping = Mapping::new(1 << 20, Pages::Base).unwrap();
        let Some(node) = a_node() else {
            skipped("a kernel with memory nodes");
            return;
        };
        if let Err(error) = mapping.bind(node) {
            skipped(&format!("mbind(2): {error}"));
            return;
        }
        let nodes = |mapping: &Mapping, count| mapping.nodes_of_sample(count);
        let Ok(before) = nodes(&mapping, 5) else {
            skipped("move_pages(2)");
            return;
        };
        assert_eq!(before.len(), 5);
        assert!(before.iter().all(Result::is_err), "nobody touched {before:?}");
        mapping.integers_mut().fill(1);
        let after: Vec<u32> = nodes(&mapping, 5).unwrap().into_iter().map(Result::unwrap).collect();
        assert_eq!(after, [node; 5]);
        let pages = mapping.bytes() / mapping.step();
        assert_eq!(nodes(&mapping, usize::MAX).unwrap().len(), pages);
        assert!(nodes(&mapping, 0).unwrap().is_empty());
    }

    #[test]
    fn nodes_that_do_not_exist_are_errors() {
        let mut mapping = Mapping::new(1, Pages::Base).unwrap();
        for node in [1023, 1024, 32_767, 32_768, u32::MAX] {
            assert!(mapping.bind(node).is_err(), "{node}");
        }
    }
}
