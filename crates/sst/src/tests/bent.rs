//! Machines whose driver answers otherwise than it would.

use model::Reading;
use std::sync::Arc;

use machine::isst::{Message, Refusal};
use machine::{Isst, IsstDevice, Machine};

/// What becomes of an ioctl that was answered.
pub(super) type Bend = fn(&mut Message, Result<u32, Refusal>) -> Result<u32, Refusal>;

struct Bent {
    inner: Arc<dyn Isst>,
    bend: Bend,
}

struct Open<'a> {
    inner: Box<dyn IsstDevice + 'a>,
    bend: Bend,
}

impl Isst for Bent {
    fn open(&self) -> Reading<Box<dyn IsstDevice + '_>> {
        Ok(Box::new(Open { inner: self.inner.open()?, bend: self.bend }))
    }
}

impl IsstDevice for Open<'_> {
    fn call(&self, message: &mut Message) -> Result<u32, Refusal> {
        let answer = self.inner.call(message);
        (self.bend)(message, answer)
    }
}

pub(super) fn bent(machine: Machine, bend: Bend) -> Machine {
    let isst = Arc::new(Bent { inner: Arc::clone(&machine.isst), bend });
    Machine { isst, ..machine }
}
