//! What is asked of Speed Select: one ioctl.

use model::Unavailable;
use sys::isst::layout::Layout;
use sys::isst::{REQUESTS, Request};

/// One ioctl: a question that becomes its answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    request: Request,
    pub(crate) argument: Vec<u8>,
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// The driver answered with this error number.
    Errno(i32),
    /// Nobody was asked.
    Unavailable(Unavailable),
}

impl Refusal {
    /// Whether the driver answered with this error number.
    pub fn is(&self, code: i32) -> bool {
        *self == Refusal::Errno(code)
    }
}

impl Message {
    /// Which ioctl it is.
    pub fn request(&self) -> Request {
        self.request
    }

    /// What its pointer points to.
    pub fn argument(&mut self) -> &mut [u8] {
        &mut self.argument
    }

    pub(crate) fn single<T: Layout>(number: u8, content: &T) -> Message {
        let mut message = Message::empty(number, 0);
        content.to_bytes(&mut message.argument);
        message
    }

    pub(crate) fn list<T: Layout>(number: u8, entries: &[T]) -> Message {
        let mut message = Message::empty(number, entries.len());
        let request = message.request;
        let count = entries.len() as u32;
        message.argument[..4].copy_from_slice(&count.to_le_bytes());
        for (i, entry) in entries.iter().enumerate() {
            entry.to_bytes(&mut message.argument[request.header_bytes + i * request.entry_bytes..]);
        }
        message
    }

    /// All structures begin as zeros: the driver fills not every field.
    pub(crate) fn empty(number: u8, entries: usize) -> Message {
        let request = REQUESTS[usize::from(number)];
        let bytes = request.header_bytes + entries * request.entry_bytes;
        Message { request, argument: vec![0; bytes] }
    }

    pub(crate) fn entries<T: Layout>(&self) -> impl Iterator<Item = T> {
        let Request { header_bytes, entry_bytes, .. } = self.request;
        self.argument[header_bytes..].chunks_exact(entry_bytes).map(T::from_bytes)
    }
}
