//! A process is killed at every point at which something outside of it has changed or is about to, and what it left
//! is finished by others.

mod kill;
mod late;

use std::sync::Arc;
use std::time::Duration;

use files::{Files, Hash, Referrer};

use self::kill::{Kill, When};
use crate::owner::{Process, World};

const CONTENT: &[u8] = b"the seller's goods";
const DAY: Duration = Duration::from_secs(25 * 3_600);

impl World {
    /// A process that is killed at a step of its life.
    fn doomed(&self, kill: &Arc<Kill>) -> Process {
        let store = self.store.wrapped(|engine| kill::wrap_engine(engine, kill));
        let objects = kill::wrap_objects(self.objects.clone(), kill);
        Process { files: Files::over(objects, store.clone(), self.options()).unwrap(), store }
    }

    async fn sweep(&self, process: &Process) -> files::Result<()> {
        let shards = [Hash::of(CONTENT).shard()];
        process.deliver(|| false).await?;
        process.files.sweep_shards(&shards, |referrer, hash| self.truth(referrer, hash)).await?;
        // The second time what the first let go is due.
        self.clock.advance(process.files.write_window());
        process.files.sweep_shards(&shards, |referrer, hash| self.truth(referrer, hash)).await?;
        Ok(())
    }
}

fn referrer(name: &str) -> Referrer {
    Referrer::new(format!("test:{name}")).unwrap()
}

/// A file's whole life, in the order of the protocol.
async fn life(world: &World, process: &Process, who: &Referrer) -> files::Result<()> {
    let hash = process.put(CONTENT, who).await?;
    process.own(who, &hash).await?;
    process.files.confirm(&hash, who).await?;
    process.disown(who, &hash).await?;
    process.deliver(|| false).await?;
    world.clock.advance(process.files.write_window());
    process.files.delete_due(&[hash.shard()]).await?;
    Ok(())
}

/// The life of a file has 10 steps that change something outside; this is the check that the kill reaches them all.
#[tokio::test]
async fn a_life_without_a_kill_leaves_nothing() {
    let (world, kill) = (World::new(), Kill::never());
    life(&world, &world.doomed(&kill), &referrer("a")).await.unwrap();
    let steps = kill.steps();
    let expected = "commit put commit commit commit commit commit commit delete commit";
    assert_eq!(steps.join(" "), expected);
    world.check_settled(CONTENT, "a whole life").await;
}

#[tokio::test]
async fn killed_anywhere_in_a_life_the_sweep_leaves_nothing_undone() {
    for (at, when) in kill::every_step(10) {
        let (world, kill) = (World::new(), Kill::at(at, when));
        let process = world.doomed(&kill);
        assert!(
            kill.run(life(&world, &process, &referrer("a"))).await.is_none(),
            "step {at} was not reached"
        );
        let place = format!("killed {when:?} step {at} ({})", kill.steps().join(" "));
        world.check_always(CONTENT, &place).await;
        world.clock.advance(DAY);
        world.sweep(&world.sound()).await.unwrap();
        world.check_settled(CONTENT, &place).await;
    }
}

#[tokio::test]
async fn killed_anywhere_the_owner_can_begin_again() {
    for (at, when) in kill::every_step(4) {
        let (world, kill) = (World::new(), Kill::at(at, when));
        let (process, who) = (world.doomed(&kill), referrer("a"));
        assert!(kill.run(life(&world, &process, &who)).await.is_none());
        let place = format!("killed {when:?} step {at}, begun again");
        let process = world.sound();
        let hash = process.put(CONTENT, &who).await.unwrap();
        process.own(&who, &hash).await.unwrap();
        process.files.confirm(&hash, &who).await.unwrap();
        world.check_settled(CONTENT, &place).await;
        // What was due to the first try may not touch the second.
        world.clock.advance(DAY);
        world.sweep(&process).await.unwrap();
        world.check_settled(CONTENT, &place).await;
        assert_eq!(world.owners().await.len(), 1, "{place}");
    }
}

#[tokio::test]
async fn killed_anywhere_in_a_life_and_again_in_the_sweep() {
    for (at, when) in kill::every_step(10) {
        for (again, when_again) in kill::every_step(usize::MAX) {
            let (world, kill) = (World::new(), Kill::at(at, when));
            let process = world.doomed(&kill);
            assert!(kill.run(life(&world, &process, &referrer("a"))).await.is_none());
            world.clock.advance(DAY);
            let second = Kill::at(again, when_again);
            let swept = second.run(world.sweep(&world.doomed(&second))).await;
            let place = format!("killed {when:?} step {at}, then {when_again:?} step {again} of the sweep");
            world.check_always(CONTENT, &place).await;
            world.clock.advance(DAY);
            world.sweep(&world.sound()).await.unwrap();
            world.check_settled(CONTENT, &place).await;
            if swept.is_some() && when_again == When::After {
                break;
            }
        }
    }
}

#[tokio::test]
async fn killed_anywhere_nobody_else_loses_the_file() {
    for (at, when) in kill::every_step(6) {
        let (world, kill) = (World::new(), Kill::at(at, when));
        let (sound, other) = (world.sound(), referrer("other"));
        let hash = sound.put(CONTENT, &other).await.unwrap();
        sound.own(&other, &hash).await.unwrap();
        sound.files.confirm(&hash, &other).await.unwrap();
        // The content is there, so its second life has no write and no deletion: 6 commits.
        assert!(kill.run(life(&world, &world.doomed(&kill), &referrer("a"))).await.is_none(), "step {at}");
        world.clock.advance(DAY);
        world.sweep(&sound).await.unwrap();
        world.check_settled(CONTENT, &format!("killed {when:?} step {at}, with another owner")).await;
        assert!(world.owners().await.contains(&(other, hash)));
    }
}
