//! What stands between the engine and a machine: it watches, counts, delays, loses and refuses writes.

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use levers::{Levers, Object};

/// What stands between the engine and the machine.
pub(super) struct Between {
    pub(super) port: Arc<Mutex<Box<dyn Levers>>>,
    /// Which write it is.
    pub(super) count: Arc<AtomicUsize>,
    pub(super) fate: Fate,
}

#[derive(Clone)]
pub(super) enum Fate {
    /// What a kill would leave, before and after each write.
    Watched(Arc<dyn Fn() + Send + Sync>),
    /// Writes are counted.
    Counted(Arc<AtomicUsize>),
    /// That write fails.
    Fails(usize),
    /// That write is taken, and nothing comes of it.
    IsLost(usize),
    /// The device is gone from that write on.
    IsGone(usize),
    /// What is written to firmware is there only some time later.
    IsLate(Duration),
    /// The driver of firmware does not wait for it, and says that it failed.
    GivesUp(Duration),
    /// The same of that write alone, as the driver of the newer generation says it; nothing comes of it, or it
    /// is there some time later.
    Refuses(usize, Option<Duration>),
    /// What firmware refused is noted. Files refuse a limit above another, until that has gone.
    Refusals(Arc<Mutex<Vec<String>>>),
}

impl Levers for Between {
    fn permits(&self, object: &Object) -> io::Result<()> {
        self.port.lock().unwrap().permits(object)
    }

    fn write(&mut self, object: &Object, text: &str) -> io::Result<()> {
        let nth = self.count.fetch_add(1, Ordering::Relaxed);
        let write = |object, text: &str| self.port.lock().unwrap().write(object, text);
        let later = |time: Duration| {
            let (port, object, text) = (Arc::clone(&self.port), object.clone(), text.to_owned());
            thread::spawn(move || {
                thread::sleep(time);
                port.lock().unwrap().write(&object, &text).unwrap();
            });
        };
        match &self.fate {
            Fate::Watched(look) => {
                look();
                let written = write(object, text);
                look();
                written
            }
            Fate::Fails(at) if nth == *at => Err(io::ErrorKind::InvalidInput.into()),
            Fate::IsLost(at) if nth == *at => Ok(()),
            Fate::IsGone(at) if nth >= *at => Err(io::ErrorKind::NotFound.into()),
            Fate::IsLate(time) if matches!(object, Object::SpeedSelect(_)) => {
                later(*time);
                Ok(())
            }
            Fate::GivesUp(time) if matches!(object, Object::SpeedSelect(_)) => {
                later(*time);
                Err(io::ErrorKind::TimedOut.into())
            }
            Fate::Refuses(at, time) if nth == *at => {
                time.map(later);
                Err(io::Error::from_raw_os_error(sys::errno::ENOTTY))
            }
            Fate::Refusals(refused) => write(object, text).inspect_err(|error| {
                if matches!(object, Object::SpeedSelect(_)) {
                    refused.lock().unwrap().push(format!("{object}: {text}: {error}"));
                }
            }),
            _ => write(object, text),
        }
    }
}

pub(super) fn between(fate: Fate) -> impl FnOnce(Box<dyn Levers>) -> Box<dyn Levers> {
    let count = match &fate {
        Fate::Counted(count) => Arc::clone(count),
        _ => Arc::default(),
    };
    move |port| Box::new(Between { port: Arc::new(Mutex::new(port)), count, fate })
}
