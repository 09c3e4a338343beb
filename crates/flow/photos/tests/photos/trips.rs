//! The round trips of the consumer's transaction do not grow with what it applies.

use files::tables::{BLOBS, Blob, BlobState, FILE_REFS, FileRef, RefState};
use files::{Hash, Referrer, Release};
use photos::tables::{PHOTO_ERRORS, PHOTO_URLS, PHOTO_USES, UrlRow};
use photos::{Erasures, Requested, Requests};
use prost::Message as _;
use store::{Range, Shard, Store, Tx};
use testing::{Counted, record, trips};
use topics::Record;
use wire::photos::PhotoRequest;

use crate::world::{SELLER, World, releasing, request};

const MANY: i64 = 40;

async fn check(what: &str, store: &Store, counted: &Counted, handler: &Requests, requests: &[PhotoRequest]) {
    let record = |request: &PhotoRequest| record(0, "", request.encode_to_vec());
    let records: Vec<Record> = requests.iter().map(record).collect();
    let one = trips(store, counted, handler, &records[..1]).await;
    let many = trips(store, counted, handler, &records[1..]).await;
    assert!(many <= one + 1 && one <= 8, "{what}: {one} for one, {many} for {}", records.len() - 1);
}

#[tokio::test]
async fn requests_and_releases_share_their_questions() {
    let world = World::new().await;
    let (counted, store) = Counted::over(&world.store);
    let handler = Requests { clock: world.clock.clone() };
    let url = |offer: i64| world.gallery.url(&format!("{offer}.jpg"));
    let requests: Vec<_> =
        (0..MANY).map(|offer| request(&format!("r{offer}"), offer, &[&url(offer)])).collect();
    check("unknown urls", &store, &counted, &handler, &requests).await;
    // Answered with an error each, they are asked for again by other offers, and then let go.
    let now = world.clock.now();
    cluster::work::run_due(&Requested(world.photos()), &[World::shard()], now).await.unwrap();
    let releases: Vec<_> = (0..MANY).map(|offer| releasing(offer, &[&url(offer)])).collect();
    check("releases", &store, &counted, &handler, &releases).await;
}

/// Neither the sellers that are erased together nor the photos that each has make a difference.
#[tokio::test]
async fn erasures_share_their_questions() {
    let world = World::new().await;
    let names = (0..).map(|number| format!("seller-{number}"));
    let neighbours = names.filter(|name| Shard::of(name) == World::shard() && name != SELLER);
    let sellers: Vec<_> = neighbours.take(MANY as usize).collect();
    let fill = async |tx: &mut Tx| {
        for (number, seller) in sellers.iter().enumerate() {
            let photos = if number == 0 { 1_u32 } else { 20 };
            for photo in 0..photos {
                let hash = photo.to_be_bytes().to_vec();
                let referrer = format!("photos:{photo}/{seller}");
                let row = UrlRow { hash: vec![photo as u8; 32], referrer, ..UrlRow::default() };
                tx.put(&PHOTO_URLS, (seller, &hash), &row)?;
                for offer in 0..3_i64 {
                    tx.put(&PHOTO_USES, (seller, &hash, offer), &())?;
                }
            }
        }
        Ok::<_, store::Error>(())
    };
    world.store.transact(World::shard(), fill).await.unwrap();
    let (counted, store) = Counted::over(&world.store);
    let record = |seller: &String| record(0, seller.clone(), model::erasure::write(seller, 7));
    let records: Vec<Record> = sellers.iter().map(record).collect();
    let one = trips(&store, &counted, &Erasures, &records[..1]).await;
    let many = trips(&store, &counted, &Erasures, &records[1..]).await;
    assert!(many <= one + 1 && one <= 8, "{one} for one, {many} for {}", records.len() - 1);
    let shards = [World::shard()];
    let urls = world.store.scan_shards(&PHOTO_URLS, &shards, Range::all(9)).await.unwrap().len();
    let uses = world.store.scan_shards(&PHOTO_USES, &shards, Range::all(9)).await.unwrap().len();
    let errors = world.store.scan_shards(&PHOTO_ERRORS, &shards, Range::all(9)).await.unwrap().len();
    assert_eq!((urls, uses, errors), (0, 0, 0));
}

/// Both holders of a file that release it.
fn referrers(number: usize) -> [Referrer; 2] {
    ["a", "b"].map(|owner| Referrer::new(format!("photos:{number}/{owner}")).unwrap())
}

/// Files with two holders each; every second one has a third, who keeps it.
fn hold(tx: &mut Tx, hashes: &[Hash]) -> store::Result<()> {
    let held = FileRef { state: RefState::Held.into(), since: 1 };
    for (number, hash) in hashes.iter().enumerate() {
        let key = hash.as_bytes().as_slice();
        let blob = Blob { state: BlobState::Present.into(), generation: 1, ..Blob::default() };
        tx.put(&BLOBS, (key,), &blob)?;
        for referrer in referrers(number) {
            tx.put(&FILE_REFS, (key, referrer.as_str()), &held)?;
        }
        if number.is_multiple_of(2) {
            tx.put(&FILE_REFS, (key, "photos:keeper"), &held)?;
        }
    }
    Ok(())
}

/// The handler is that of the files, which have no tests that count.
#[tokio::test]
async fn releases_of_files_share_their_questions() {
    let world = World::new().await;
    let (counted, store) = Counted::over(&world.store);
    let all = (0_u64..).map(|number| Hash::of(&number.to_be_bytes()));
    let shard = Hash::of(&0_u64.to_be_bytes()).shard();
    let hashes: Vec<Hash> = all.filter(|hash| hash.shard() == shard).take(MANY as usize).collect();
    store.transact(shard, async |tx: &mut Tx| hold(tx, &hashes)).await.unwrap();

    let release = |(number, hash): (usize, &Hash)| -> [Record; 2] {
        referrers(number).map(|referrer| record(0, "", Release::new(hash, &referrer).encode_to_vec()))
    };
    let records: Vec<Record> = hashes.iter().enumerate().flat_map(release).collect();
    let handler = world.photos().files.releases();
    for what in ["releases", "repeats"] {
        let one = trips(&store, &counted, &handler, &records[..1]).await;
        let many = trips(&store, &counted, &handler, &records[1..]).await;
        assert!(many <= one + 1 && one <= 4, "{what}: {one} for one, {many} for {}", records.len() - 1);
    }
    let left = store.scan_shards(&FILE_REFS, &[shard], Range::all(100)).await.unwrap();
    assert_eq!(left.len(), hashes.len() / 2, "those who keep a file keep it");
    let blobs = store.scan_shards(&BLOBS, &[shard], Range::all(100)).await.unwrap();
    let going = blobs.iter().filter(|(.., blob)| blob.state() == BlobState::Deleting).count();
    assert_eq!(going, hashes.len() / 2, "the others go");
}
