//! The answers of the kernel that a reason is made of, by name.

use std::io;

pub use libc::{
    E2BIG, EACCES, EAGAIN, EBUSY, EFAULT, EINTR, EINVAL, EIO, EMFILE, ENODEV, ENOENT, ENOMEM,
    ENOSYS, ENOTTY, ENXIO, EOPNOTSUPP, EPERM, EROFS, ETIMEDOUT,
};

const NAMES: &[(i32, &str)] = &[
    (E2BIG, "E2BIG"),
    (EACCES, "EACCES"),
    (EAGAIN, "EAGAIN"),
    (EBUSY, "EBUSY"),
    (EFAULT, "EFAULT"),
    (EINTR, "EINTR"),
    (EINVAL, "EINVAL"),
    (EIO, "EIO"),
    (EMFILE, "EMFILE"),
    (ENODEV, "ENODEV"),
    (ENOENT, "ENOENT"),
    (ENOMEM, "ENOMEM"),
    (ENOSYS, "ENOSYS"),
    (ENOTTY, "ENOTTY"),
    (ENXIO, "ENXIO"),
    (EOPNOTSUPP, "EOPNOTSUPP"),
    (EPERM, "EPERM"),
    (EROFS, "EROFS"),
    (ETIMEDOUT, "ETIMEDOUT"),
];

/// What happened to a file, in the words of a sentence: `permission denied`.
pub fn words(error: &io::Error) -> String {
    use io::ErrorKind::{
        InvalidData, IsADirectory, NotADirectory, NotFound, PermissionDenied, ReadOnlyFilesystem,
    };
    let words = match error.kind() {
        NotFound => "there is no such file or folder",
        PermissionDenied => "permission denied",
        IsADirectory => "it is a folder",
        NotADirectory => "a part of the path is no folder",
        ReadOnlyFilesystem => "the file system is read-only",
        InvalidData => "it is no text in UTF-8",
        _ => return error.to_string(),
    };
    words.to_owned()
}

/// `EACCES`; the words of the operating system where the name is not among those above.
pub fn name(error: &io::Error) -> String {
    let known = NAMES.iter().find(|(code, _)| error.raw_os_error() == Some(*code));
    known.map_or_else(|| error.to_string(), |(_, name)| (*name).into())
}
