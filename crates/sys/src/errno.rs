//! The answers of the kernel that a reason is made of, by name.

pub use libc::{
    EACCES, EBUSY, EINVAL, EIO, EMFILE, ENODEV, ENOENT, ENOMEM, ENOSYS, ENXIO, EOPNOTSUPP, EPERM,
};

const NAMES: &[(i32, &str)] = &[
    (EACCES, "EACCES"),
    (EBUSY, "EBUSY"),
    (EINVAL, "EINVAL"),
    (EIO, "EIO"),
    (EMFILE, "EMFILE"),
    (ENODEV, "ENODEV"),
    (ENOENT, "ENOENT"),
    (ENOMEM, "ENOMEM"),
    (ENOSYS, "ENOSYS"),
    (ENXIO, "ENXIO"),
    (EOPNOTSUPP, "EOPNOTSUPP"),
    (EPERM, "EPERM"),
];

/// `EACCES`; the words of the operating system where the name is not among those above.
pub fn name(error: &std::io::Error) -> String {
    let known = NAMES.iter().find(|(code, _)| error.raw_os_error() == Some(*code));
    known.map_or_else(|| error.to_string(), |(_, name)| (*name).into())
}
