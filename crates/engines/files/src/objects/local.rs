use std::fs::{self, File};
use std::io::{self, Write as _};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use futures::stream::{self, BoxStream, StreamExt as _};
use tokio::io::{AsyncReadExt as _, AsyncSeekExt as _};
use tokio_util::io::ReaderStream;

use super::Objects;
use crate::{Body, Error, Kind, ObjectName, Result, error};

const READ_BYTES: usize = 256 << 10;
const STAGING: &str = "staging";

/// Objects as files below a folder: `<root>/ab/cd/<hash>.<generation>`.
///
/// A write makes a second name in `<root>/staging` for the temp file that was received (or copies it, from another
/// file system), syncs the content, renames it into place and syncs the folder: whole and durable, or not there.
/// This is why it does not go through `object_store`'s folder: there every byte would be written twice, and a removal
/// would not be durable.
pub(super) struct Local {
    root: PathBuf,
}

impl Local {
    pub(super) fn open(root: &Path) -> Result<Self> {
        let staging = root.join(STAGING);
        fs::create_dir_all(&staging)
            .map_err(|error| error::of_io(format!("the folder {} for files", staging.display()), error))?;
        Ok(Self { root: root.to_owned() })
    }

    fn path(&self, name: &ObjectName) -> PathBuf {
        self.root.join(name.to_string())
    }
}

#[async_trait]
impl Objects for Local {
    async fn put(&self, name: &ObjectName, body: &Body) -> Result<()> {
        let (root, path, body) = (self.root.clone(), self.path(name), body.clone());
        let staged = root.join(STAGING).join(format!("{}.{}", name.file_name(), kit::random_id()));
        let name = *name;
        tokio::task::spawn_blocking(move || {
            let written = write(&root, &name, &body, &staged, &path);
            if written.is_err() {
                // Its own error would hide the one that counts; what stays is found by `tidy`.
                let _ = fs::remove_file(&staged);
            }
            written
        })
        .await
        .map_err(|error| Error::with_source(Kind::Unknown, format!("writing object {name}"), error))?
    }

    async fn get(&self, name: &ObjectName, range: Range<u64>) -> Result<BoxStream<'static, Result<Bytes>>> {
        let failed = |error| error::of_io(format!("reading object {name}"), error);
        let mut file = tokio::fs::File::open(self.path(name)).await.map_err(failed)?;
        file.seek(io::SeekFrom::Start(range.start)).await.map_err(failed)?;
        let name = *name;
        let part = file.take(range.end - range.start);
        Ok(ReaderStream::with_capacity(part, READ_BYTES)
            .map(move |bytes| bytes.map_err(|error| error::of_io(format!("reading object {name}"), error)))
            .boxed())
    }

    async fn size(&self, name: &ObjectName) -> Result<Option<u64>> {
        match tokio::fs::metadata(self.path(name)).await {
            Ok(metadata) => Ok(Some(metadata.len())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error::of_io(format!("looking at object {name}"), error)),
        }
    }

    async fn delete(&self, name: &ObjectName) -> Result<()> {
        let path = self.path(name);
        blocking(format!("removing object {name}"), move || match fs::remove_file(&path) {
            Ok(()) => sync_folder(parent(&path)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                // An earlier removal may have been cut off before its folder was synced.
                match sync_folder(parent(&path)) {
                    Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
                    synced => synced,
                }
            }
            Err(error) => Err(error),
        })
        .await
    }

    fn list(&self) -> BoxStream<'static, Result<ObjectName>> {
        let (sender, receiver) = tokio::sync::mpsc::channel(256);
        let root = self.root.clone();
        tokio::task::spawn_blocking(move || {
            if let Err(error) = walk(&root, &mut |name| sender.blocking_send(Ok(name)).is_ok()) {
                let _ = sender.blocking_send(Err(error::of_io("listing objects", error)));
            }
        });
        stream::unfold(receiver, async |mut receiver| Some((receiver.recv().await?, receiver))).boxed()
    }

    async fn tidy(&self, older_than: Duration) -> Result<usize> {
        remove_old(self.root.join(STAGING), "", older_than).await
    }
}

/// Removes the files of a folder whose name begins so and that nobody has written to for so long.
pub(crate) async fn remove_old(folder: PathBuf, prefix: &'static str, older_than: Duration) -> Result<usize> {
    blocking(format!("tidying {}", folder.display()), move || {
        let mut removed = 0;
        for entry in fs::read_dir(&folder)? {
            let entry = entry?;
            if !entry.file_name().to_string_lossy().starts_with(prefix) {
                continue;
            }
            // One that vanishes meanwhile has been tidied by somebody else.
            let Ok(age) = entry.metadata().and_then(|metadata| metadata.modified()).map(|at| at.elapsed())
            else {
                continue;
            };
            if age.is_ok_and(|age| age > older_than) && fs::remove_file(entry.path()).is_ok() {
                removed += 1;
            }
        }
        Ok(removed)
    })
    .await
}

/// Brings the content under a name of its own on the file system of the objects, synced.
fn stage(body: &Body, staged: &Path) -> io::Result<()> {
    match body {
        Body::Memory(bytes) => {
            let mut file = File::create_new(staged)?;
            file.write_all(bytes)?;
            file.sync_all()
        }
        Body::File(temp) => {
            if fs::hard_link(&**temp, staged).is_err() {
                fs::copy(&**temp, staged)?;
            }
            File::open(staged)?.sync_all()
        }
    }
}

/// Until the rename nothing has happened; behind it the object may or may not outlive a loss of power.
fn write(root: &Path, name: &ObjectName, body: &Body, staged: &Path, path: &Path) -> Result<()> {
    let folder = parent(path);
    let before = || {
        stage(body, staged)?;
        if !folder.is_dir() {
            fs::create_dir_all(folder)?;
            sync_folder(root)?;
            sync_folder(parent(folder))?;
        }
        fs::rename(staged, path)
    };
    before().map_err(|error| error::of_io(format!("writing object {name}"), error))?;
    sync_folder(folder).map_err(|error| {
        Error::with_source(Kind::Unknown, format!("syncing the folder of object {name}"), error)
    })
}

fn parent(path: &Path) -> &Path {
    path.parent().unwrap_or(path)
}

/// Makes new and removed names in a folder durable.
fn sync_folder(folder: &Path) -> io::Result<()> {
    // Windows has no handle of a folder to sync; its journal keeps the order.
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}

/// Calls `found` for every object until it says no.
fn walk(root: &Path, found: &mut dyn FnMut(ObjectName) -> bool) -> io::Result<()> {
    for first in fs::read_dir(root)? {
        let first = first?.path();
        if !first.is_dir() || first.ends_with(STAGING) {
            continue;
        }
        for second in fs::read_dir(&first)? {
            let second = second?.path();
            if !second.is_dir() {
                continue;
            }
            for file in fs::read_dir(&second)? {
                let path = file?.path();
                let relative = path.strip_prefix(root).unwrap_or(&path);
                let relative = relative.to_string_lossy().replace('\\', "/");
                if ObjectName::from_path(&relative).is_some_and(|name| !found(name)) {
                    return Ok(());
                }
            }
        }
    }
    Ok(())
}

async fn blocking<T: Send + 'static>(
    what: String,
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> Result<T> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done.map_err(|error| error::of_io(what, error)),
        Err(error) => Err(Error::with_source(Kind::Unknown, what, error)),
    }
}
