use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use futures::stream::BoxStream;
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};

use super::{Objects, SharedObjects};
use crate::{Body, Error, Kind, ObjectName, Result};

/// How often what goes wrong; each is a probability per write or removal.
#[derive(Clone, Debug)]
pub struct FaultPlan {
    pub seed: u64,
    /// The call fails and nothing has happened.
    pub fail_before: f64,
    /// It has happened, but the caller is told that it may have.
    pub fail_after: f64,
    /// The caller is told that it may have happened; it will, when the test lets it ([`Faults::land`]).
    pub late: f64,
}

/// Objects that break on purpose, from a seed.
pub struct Faults {
    objects: SharedObjects,
    plan: FaultPlan,
    state: Mutex<State>,
}

struct State {
    dice: StdRng,
    late: Vec<Late>,
}

/// A call that is still on its way.
enum Late {
    Put(ObjectName, Body),
    Delete(ObjectName),
}

enum Fate {
    Well,
    Before,
    After,
    Late,
}

impl Faults {
    pub fn new(objects: SharedObjects, plan: FaultPlan) -> Arc<Self> {
        let state = Mutex::new(State { dice: StdRng::seed_from_u64(plan.seed), late: Vec::new() });
        Arc::new(Self { objects, plan, state })
    }

    /// Lets one of the calls arrive that are on their way. Says whether there was one.
    pub async fn land(&self) -> Result<bool> {
        let landing = {
            let mut state = self.state();
            if state.late.is_empty() {
                return Ok(false);
            }
            let count = state.late.len();
            let index = state.dice.random_range(0..count);
            state.late.swap_remove(index)
        };
        match landing {
            Late::Put(name, body) => self.objects.put(&name, &body).await?,
            Late::Delete(name) => self.objects.delete(&name).await?,
        }
        Ok(true)
    }

    /// Writes on their way are lost, as after the time in which they could arrive; removals stay.
    pub fn lose_late_writes(&self) {
        self.state().late.retain(|late| matches!(late, Late::Delete(_)));
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn fate(&self) -> Fate {
        let luck: f64 = self.state().dice.random();
        let plan = &self.plan;
        if luck < plan.fail_before {
            Fate::Before
        } else if luck < plan.fail_before + plan.fail_after {
            Fate::After
        } else if luck < plan.fail_before + plan.fail_after + plan.late {
            Fate::Late
        } else {
            Fate::Well
        }
    }
}

fn failed(fate: &Fate) -> Error {
    match fate {
        Fate::Before => Error::new(Kind::Unavailable, "failed on purpose, before"),
        _ => Error::new(Kind::Unknown, "failed on purpose, perhaps after"),
    }
}

#[async_trait]
impl Objects for Faults {
    async fn put(&self, name: &ObjectName, body: &Body) -> Result<()> {
        let fate = self.fate();
        match fate {
            Fate::Well => return self.objects.put(name, body).await,
            Fate::Before => {}
            Fate::After => self.objects.put(name, body).await?,
            Fate::Late => self.state().late.push(Late::Put(*name, body.clone())),
        }
        Err(failed(&fate))
    }

    async fn get(&self, name: &ObjectName, range: Range<u64>) -> Result<BoxStream<'static, Result<Bytes>>> {
        self.objects.get(name, range).await
    }

    async fn size(&self, name: &ObjectName) -> Result<Option<u64>> {
        self.objects.size(name).await
    }

    async fn delete(&self, name: &ObjectName) -> Result<()> {
        let fate = self.fate();
        match fate {
            Fate::Well => return self.objects.delete(name).await,
            Fate::Before => {}
            Fate::After => self.objects.delete(name).await?,
            Fate::Late => self.state().late.push(Late::Delete(*name)),
        }
        Err(failed(&fate))
    }

    fn list(&self) -> BoxStream<'static, Result<ObjectName>> {
        self.objects.list()
    }

    async fn tidy(&self, older_than: Duration) -> Result<usize> {
        self.objects.tidy(older_than).await
    }
}
