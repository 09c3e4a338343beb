//! A process dies at each of its writes; the next one finishes.

use store::FaultPlan;

use crate::images::jpeg;
use crate::world::{World, releasing, request, state, work};

/// The writes of a request with two photos: for each the claim and the end of its file's upload, then the answer, then
/// two confirmations. Whether the last write before the death is there is the seed's choice, so each is tried with some.
const WRITES: u64 = 7;

#[tokio::test]
async fn a_worker_killed_anywhere_loses_no_request_and_leaks_no_photo() {
    let mut unfinished = 0;
    for at in 0..=WRITES {
        for seed in [at, at + 100] {
            let when = format!("killed at write {at}, seed {seed}");
            let world = World::new().await;
            let first = world.gallery.hang("a.jpg", jpeg(60, 40, 1));
            let second = world.gallery.hang("b.jpg", jpeg(60, 40, 2));
            world.receive(&request("r1", 7, &[&first, &second])).await;

            let plan = FaultPlan { crash_at_commit: Some(at), ..FaultPlan::none(seed) };
            let doomed = work(world.doomed(plan)).await;
            unfinished += usize::from(doomed.is_err());
            world.work().await;

            let results = world.deliver().await;
            assert_eq!(results.len(), 1, "{when}");
            assert!(results[0].photos.iter().all(|photo| state(photo) == "ready"), "{when}: {results:?}");
            world.sweep().await;
            world.check_settled(&when).await;
            for photo in &results[0].photos {
                let file = world.photos().files.open(&photo.hash.parse().unwrap()).await.unwrap();
                file.bytes().await.unwrap();
            }

            world.receive(&releasing(7, &[&first, &second])).await;
            world.deliver().await;
            world.sweep().await;
            world.check_settled(&format!("{when}, released")).await;
        }
    }
    assert!(unfinished > 5, "the deaths came while there was work: {unfinished}");
}

#[tokio::test]
async fn an_upload_killed_anywhere_leaks_nothing() {
    for at in 0..=5 {
        for seed in [at, at + 100] {
            let when = format!("killed at write {at}, seed {seed}");
            let world = World::new().await;
            let plan = FaultPlan { crash_at_commit: Some(at), ..FaultPlan::none(seed) };
            let doomed = photos::upload(&world.doomed(plan), crate::world::SELLER, jpeg(60, 40, 1)).await;
            world.sweep().await;
            world.check_settled(&when).await;
            let again = photos::upload(&world.photos(), crate::world::SELLER, jpeg(60, 40, 1)).await.unwrap();
            if let Ok(first) = doomed {
                assert_eq!(first.url, again.url, "{when}");
            }
            world.sweep().await;
            world.check_settled(&when).await;
        }
    }
}
