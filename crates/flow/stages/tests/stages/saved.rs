//! After the save: the whole way from the outbox to `OnSaved` of a program of others.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::time::Duration;

use model::OfferId;
use stages::api::{PluginRequest, SavedWish};
use stages::{Error, NoteCalls};
use store::{Shard, Tx};
use testing::{Counted, record, trips};
use topics::consume::Handler as _;
use web::Verdict;
use wire::stages::SavedRun;

use crate::plugin::{Program, at, each, serve, settle, with_state, world};
use crate::simulation::waiting;
use crate::support::{World, seller};

/// Carries what waits in the outboxes to the calls, as the relay and the consumer do.
#[derive(Default)]
pub(crate) struct Relay(BTreeMap<Shard, usize>);

impl Relay {
    pub(crate) async fn carry(&mut self, world: &World) {
        let notes = NoteCalls(world.stages.clone());
        for shard in World::shards() {
            let done = self.0.entry(shard).or_default();
            let payloads = waiting(&world.offers.store, shard, model::topics::STAGES_SAVED).await;
            let messages: Vec<_> = payloads[*done..].iter().map(|payload| decoded(&notes, payload)).collect();
            *done = payloads.len();
            let apply = async |tx: &mut Tx| {
                notes.apply(tx, messages.clone()).await.map_err(|failure| Error::Invalid(failure.to_string()))
            };
            world.offers.store.transact(shard, apply).await.unwrap();
        }
    }
}

fn decoded(notes: &NoteCalls, payload: &[u8]) -> SavedRun {
    notes.decode(&record(0, "", payload.to_vec())).unwrap().1
}

/// The whole way of a save: topic, line, call; in order, parked and retried.
#[tokio::test]
async fn saves_are_told_in_order_and_a_call_that_fails_keeps_the_later_ones_waiting() {
    let program = Program::serving(each(|job| {
        let title = job.offer.clone().unwrap().content.unwrap().title;
        with_state(&title)
    }));
    let world = world().await;
    let address = serve(&program, None).await;
    let request = PluginRequest { saved: SavedWish::Call, ..at(address) };
    world.stages.put_plugin("colors", request).await.unwrap();
    settle(&world).await;
    let (one, two) = (world.offer(&seller(1), "a", 5).await.id, world.offer(&seller(2), "x", 5).await.id);
    world.rest().await;
    world.edit(one, "b", 5).await;
    world.rest().await;
    program.0.refuses_saved.store(usize::MAX, Ordering::SeqCst);
    let mut relay = Relay::default();
    relay.carry(&world).await;
    for _ in 0..20 {
        world.rest().await;
        world.pass(Duration::from_secs(3_600)).await;
    }
    world.rest().await;
    let failures = world.stages.failures("colors", None, 10).await.unwrap();
    assert_eq!(failures.len(), 2, "{failures:?}");
    assert!(failures.iter().all(|failure| failure.of == stages::Of::Call && failure.tries == 20));
    program.0.refuses_saved.store(0, Ordering::SeqCst);
    world.edit(one, "c", 5).await;
    world.rest().await;
    relay.carry(&world).await;
    world.rest().await;
    assert!(program.0.saved.lock().unwrap().is_empty(), "what comes later waits");
    let id = OfferId::from_raw(one).unwrap();
    assert!(world.stages.judge("colors", id, Verdict::Retry).await.unwrap());
    world.rest().await;
    let told: Vec<_> = program.0.saved.lock().unwrap().drain(..).collect();
    let expected = ["a", "b", "c"].map(|text| (one, text.as_bytes().to_vec()));
    assert_eq!(told, expected);
    let id = OfferId::from_raw(two).unwrap();
    assert!(world.stages.judge("colors", id, Verdict::Drop).await.unwrap());
    world.rest().await;
    assert!(program.0.saved.lock().unwrap().is_empty(), "it was given up");
    for table in ["calls", "callers", "calls_due", "calls_parked"] {
        assert_eq!(world.rows(table).await, 0, "{table}");
    }
}

/// The round trips of the consumer's transaction do not grow with what it applies.
#[tokio::test]
async fn saves_share_their_questions() {
    let world = world().await;
    let program = Program::serving(each(|_| with_state("seen")));
    let address = serve(&program, None).await;
    let request = PluginRequest { saved: SavedWish::Call, ..at(address) };
    world.stages.put_plugin("colors", request).await.unwrap();
    settle(&world).await;
    let mut shard = None;
    for number in 0..40 {
        let offer = world.offer(&seller(1), &format!("t{number}"), 5).await;
        shard = Some(offers::read::shard_of(OfferId::from_raw(offer.id).unwrap()));
    }
    world.rest().await;
    let payloads = waiting(&world.offers.store, shard.unwrap(), model::topics::STAGES_SAVED).await;
    let records: Vec<_> = payloads.into_iter().map(|payload| record(0, "", payload)).collect();
    assert_eq!(records.len(), 40);
    let (counted, store) = Counted::over(&world.offers.store);
    let notes = NoteCalls(world.stages.clone());
    let one = trips(&store, &counted, &notes, &records[..1]).await;
    let many = trips(&store, &counted, &notes, &records[1..]).await;
    assert!(many <= one + 1 && one <= 4, "{one} for one, {many} for 39");
}
