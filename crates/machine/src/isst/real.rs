//! The device of the kernel that this process runs on.

use model::Reading;
use std::path::Path;

use super::{DEVICE, Message, Refusal};
use crate::dir::Folder;
use crate::ports::{Isst, IsstDevice};
use crate::probes::{Surroundings, no_speed_select};

/// Opens the device at each operation: while it is open, no part of the driver can come or go.
pub(crate) struct RealIsst;

impl Isst for RealIsst {
    fn open(&self) -> Reading<Box<dyn IsstDevice + '_>> {
        match sys::isst::Device::open(Path::new(DEVICE)) {
            Ok(device) => Ok(Box::new(OpenDevice(device))),
            Err(error) => {
                let tree = Folder::real();
                let here = Surroundings::here(&tree);
                Err(no_speed_select(&error, &here))
            }
        }
    }
}

struct OpenDevice(sys::isst::Device);

impl IsstDevice for OpenDevice {
    fn call(&self, message: &mut Message) -> Result<u32, Refusal> {
        let request = message.request();
        self.0.call(request, message.argument()).map_err(|error| {
            // Only the kernel refuses: the length of a message fits its count.
            Refusal::Errno(error.raw_os_error().unwrap_or(sys::errno::EINVAL))
        })
    }
}
