use std::convert::Infallible;

use bytes::Bytes;
use futures::stream::{self, StreamExt as _};

use super::{Case, Outcome, ensure, fresh, whole};
use crate::{Body, Hash, Kind, Limits, Referrer};

pub(super) async fn round_trip(case: &Case) -> Outcome {
    for size in [0, 1, (5 << 20) + 1] {
        let content = fresh(size);
        let hash = case.keep(&content, "test:round").await?;
        ensure!(hash == Hash::of(&content), "{size} bytes were stored under another hash");
        let reading = case.files.open(&hash).await?;
        ensure!(reading.size() == size as u64, "the size of {size} bytes is {}", reading.size());
        let found = reading.bytes().await?;
        ensure!(found == content, "{size} bytes came back as {} others", found.len());
        case.let_go(&hash, "test:round").await?;
        ensure!(case.delete_due().await? == 1, "the object of {size} bytes was not deleted");
        ensure!(case.objects_of(&hash).await?.is_empty(), "the object of {size} bytes is still there");
    }
    Ok(())
}

/// The content is made while it is received and checked while it is read; nobody has it whole.
pub(super) async fn large(case: &Case) -> Outcome {
    const CHUNK: usize = 128 << 10;
    const CHUNKS: u64 = (64 << 20) / CHUNK as u64;
    let salt = kit::random_bytes::<8>();
    let chunk = move |number: u64| {
        let mut bytes = vec![0; CHUNK];
        blake3::Hasher::new().update(&salt).update(&number.to_le_bytes()).finalize_xof().fill(&mut bytes);
        Bytes::from(bytes)
    };
    let source = stream::iter(0..CHUNKS).map(move |number| Ok::<_, Infallible>(chunk(number)));
    let limits = Limits { max_bytes: 1 << 30, expected_bytes: Some(CHUNKS * CHUNK as u64) };
    let incoming = case.files.receive(source, limits).await?;
    let referrer = Referrer::new("test:large")?;
    let hash = case.files.put(incoming, &referrer).await?.hash;
    let mut reading = case.files.open(&hash).await?;
    let (mut ready, mut number, mut largest) = (bytes::BytesMut::new(), 0, 0);
    while let Some(bytes) = reading.next().await.transpose()? {
        largest = largest.max(bytes.len());
        ready.extend_from_slice(&bytes);
        while ready.len() >= CHUNK {
            ensure!(ready.split_to(CHUNK) == chunk(number), "part {number} came back changed");
            number += 1;
        }
    }
    ensure!(number == CHUNKS && ready.is_empty(), "{number} of {CHUNKS} parts came back");
    ensure!(largest <= 8 << 20, "a chunk of {largest} bytes was read at once");
    case.let_go(&hash, "test:large").await?;
    ensure!(case.delete_due().await? == 1, "it was not deleted");
    Ok(())
}

pub(super) async fn ranges(case: &Case) -> Outcome {
    let content = fresh((9 << 20) + 17);
    let hash = case.keep(&content, "test:ranges").await?;
    let size = content.len() as u64;
    for range in
        [0..1, 5..5, 3..4_194_305, 4_194_303..4_194_305, size - 1..size, 0..size, 7..u64::MAX, size..size + 9]
    {
        let found = case.files.open_range(&hash, range.clone()).await?.bytes().await?;
        let expected = &content[range.start as usize..range.end.min(size) as usize];
        ensure!(found == expected, "the range {range:?} came back as {} bytes", found.len());
    }
    let behind = case.files.open_range(&hash, size + 1..size + 2).await.map(drop);
    ensure!(
        behind.as_ref().is_err_and(|error| error.kind() == Kind::Invalid),
        "a range behind the end gave {behind:?}"
    );
    case.let_go(&hash, "test:ranges").await?;
    case.delete_due().await?;
    Ok(())
}

pub(super) async fn missing(case: &Case) -> Outcome {
    let hash = Hash::of(&fresh(16));
    let found = case.files.open(&hash).await.map(drop);
    ensure!(found.as_ref().is_err_and(|error| error.kind() == Kind::NotFound), "it gave {found:?}");
    let name = crate::ObjectName { hash, generation: 1 };
    ensure!(case.objects.size(&name).await?.is_none(), "an object that never was has a size");
    let got = match case.objects.get(&name, 0..1).await {
        Ok(mut stream) => stream.next().await.transpose().map(drop),
        Err(error) => Err(error),
    };
    ensure!(got.as_ref().is_err_and(|error| error.kind() == Kind::NotFound), "the object gave {got:?}");
    case.objects.delete(&name).await?;
    Ok(())
}

pub(super) async fn bad_streams(case: &Case) -> Outcome {
    let content = fresh(1 << 20);
    let announced = |bytes| Limits { max_bytes: 4 << 20, expected_bytes: Some(bytes) };
    let failing = whole(&content).map(Ok).chain(stream::iter([Err("the line is dead")]));
    let failing = failing.map(|chunk| chunk.map(|Ok(bytes)| bytes));
    let outcomes = [
        (Kind::Incomplete, case.files.receive(failing, Limits::up_to(4 << 20)).await),
        (Kind::Incomplete, case.files.receive(whole(&content), announced((1 << 20) + 1)).await),
        (Kind::Incomplete, case.files.receive(whole(&content), announced((1 << 20) - 1)).await),
        (Kind::TooLarge, case.files.receive(whole(&content), announced(5 << 20)).await),
        (Kind::TooLarge, case.files.receive(whole(&content), Limits::up_to((1 << 20) - 1)).await),
    ];
    for (expected, outcome) in outcomes {
        let found = outcome.map(drop);
        ensure!(
            found.as_ref().is_err_and(|error| error.kind() == expected),
            "{found:?} where {expected:?} was expected"
        );
    }
    let left: Vec<_> = std::fs::read_dir(&case.files.options.temp_dir)
        .map_err(|error| super::Failure(error.to_string()))?
        .filter_map(|entry| Some(entry.ok()?.file_name()))
        .filter(|name| name.to_string_lossy().starts_with(crate::incoming::TEMP_PREFIX))
        .collect();
    ensure!(left.is_empty(), "temp files are left: {left:?}");
    ensure!(case.objects_of(&Hash::of(&content)).await?.is_empty(), "an object is there");
    Ok(())
}

pub(super) async fn damaged(case: &Case) -> Outcome {
    let content = fresh(300 << 10);
    let hash = case.keep(&content, "test:damaged").await?;
    let name = case.objects_of(&hash).await?[0];
    let mut changed = content.clone();
    changed[1_000] ^= 1;
    for bytes in [changed, content[1..].to_vec(), [&content[..], b"x"].concat()] {
        // A new object of other bytes: a deletion first, so that storages that never write over do not refuse.
        case.objects.delete(&name).await?;
        let size = bytes.len();
        case.objects.put(&name, &Body::Memory(bytes.into())).await?;
        let read = match case.files.open(&hash).await {
            Ok(reading) => reading.bytes().await.map(drop),
            Err(error) => Err(error),
        };
        // What is too long is cut to the size that the row knows, and is then whole.
        let fine = size > content.len() && read.is_ok();
        let named = read.as_ref().is_err_and(|error| {
            error.kind() == Kind::Corrupt && error.to_string().contains(&hash.to_string())
        });
        ensure!(fine || named, "{size} damaged bytes of {} gave {read:?}", content.len());
    }
    case.objects.delete(&name).await?;
    let lost = case.files.open(&hash).await.map(drop);
    ensure!(lost.as_ref().is_err_and(|error| error.kind() == Kind::Corrupt), "a lost object gave {lost:?}");
    Ok(())
}
