//! What an operating system or an object store says, as an error of the engines.

use std::error::Error as StdError;
use std::io;

use object_store::client::{HttpError, HttpErrorKind};

use crate::{Error, Kind};

/// A failed call to the file system that changed nothing that counts.
pub(crate) fn of_io(message: impl Into<String>, source: io::Error) -> Error {
    let kind = match source.kind() {
        io::ErrorKind::NotFound => Kind::NotFound,
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Kind::Full,
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => Kind::Denied,
        _ => Kind::Unavailable,
    };
    Error::with_source(kind, message, source)
}

/// A failed read from an object store.
pub(crate) fn of_read(message: impl Into<String>, source: object_store::Error) -> Error {
    let kind = match &source {
        object_store::Error::NotFound { .. } => Kind::NotFound,
        object_store::Error::PermissionDenied { .. } | object_store::Error::Unauthenticated { .. } => {
            Kind::Denied
        }
        _ => Kind::Unavailable,
    };
    Error::with_source(kind, message, source)
}

/// A failed write to an object store: unless it was refused or never sent, it may be there.
pub(crate) fn of_write(message: impl Into<String>, source: object_store::Error) -> Error {
    let kind = match &source {
        object_store::Error::PermissionDenied { .. } | object_store::Error::Unauthenticated { .. } => {
            Kind::Denied
        }
        // Writing needs nothing but the bucket.
        object_store::Error::NotFound { .. } => Kind::Invalid,
        other if never_sent(other) => Kind::Unavailable,
        _ => Kind::Unknown,
    };
    Error::with_source(kind, message, source)
}

fn never_sent(error: &object_store::Error) -> bool {
    let mut cause: Option<&(dyn StdError + 'static)> = Some(error);
    while let Some(error) = cause {
        if let Some(http) = error.downcast_ref::<HttpError>() {
            return http.kind() == HttpErrorKind::Connect;
        }
        cause = error.source();
    }
    false
}
