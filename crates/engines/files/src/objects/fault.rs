use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};
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
    /// Every call waits up to this long first.
    pub delay: Duration,
    /// The call fails and nothing has happened.
    pub fail_before: f64,
    /// It has happened, but the caller is told that it may have.
    pub fail_after: f64,
    /// The caller is told that it may have happened; it will, when nobody expects it any more.
    pub late: f64,
    /// A late write comes within this time.
    pub late_put: Duration,
    /// A late removal comes within this time.
    pub late_delete: Duration,
}

impl FaultPlan {
    pub fn none(seed: u64) -> Self {
        Self {
            seed,
            delay: Duration::ZERO,
            fail_before: 0.0,
            fail_after: 0.0,
            late: 0.0,
            late_put: Duration::ZERO,
            late_delete: Duration::ZERO,
        }
    }
}

/// Objects that break on purpose, from a seed.
pub struct Faults {
    objects: SharedObjects,
    plan: FaultPlan,
    dice: Mutex<StdRng>,
}

/// A write or a removal, so that one place decides what becomes of it.
enum Change {
    Put(ObjectName, Body),
    Delete(ObjectName),
}

impl Faults {
    pub fn new(objects: SharedObjects, plan: FaultPlan) -> Arc<Self> {
        let dice = Mutex::new(StdRng::seed_from_u64(plan.seed));
        Arc::new(Self { objects, plan, dice })
    }

    fn roll(&self) -> f64 {
        self.dice.lock().unwrap_or_else(PoisonError::into_inner).random()
    }

    async fn wait(&self, most: Duration) {
        if !most.is_zero() {
            tokio::time::sleep(most.mul_f64(self.roll())).await;
        }
    }

    async fn change(&self, change: Change) -> Result<()> {
        self.wait(self.plan.delay).await;
        let plan = &self.plan;
        let luck = self.roll();
        if luck < plan.fail_before {
            return Err(Error::new(Kind::Unavailable, "failed on purpose, before"));
        }
        if luck < plan.fail_before + plan.fail_after {
            change.apply(&self.objects).await?;
            return Err(Error::new(Kind::Unknown, "failed on purpose, after"));
        }
        if luck < plan.fail_before + plan.fail_after + plan.late {
            let most = if matches!(change, Change::Put(..)) { plan.late_put } else { plan.late_delete };
            let (wait, objects) = (most.mul_f64(self.roll()), self.objects.clone());
            tokio::spawn(async move {
                tokio::time::sleep(wait).await;
                if let Err(error) = change.apply(&objects).await {
                    tracing::warn!("a late change failed: {error}");
                }
            });
            return Err(Error::new(Kind::Unknown, "failed on purpose, and may come late"));
        }
        change.apply(&self.objects).await
    }
}

impl Change {
    async fn apply(&self, objects: &SharedObjects) -> Result<()> {
        match self {
            Self::Put(name, body) => objects.put(name, body).await,
            Self::Delete(name) => objects.delete(name).await,
        }
    }
}

#[async_trait]
impl Objects for Faults {
    async fn put(&self, name: &ObjectName, body: &Body) -> Result<()> {
        self.change(Change::Put(*name, body.clone())).await
    }

    async fn get(&self, name: &ObjectName, range: Range<u64>) -> Result<BoxStream<'static, Result<Bytes>>> {
        self.wait(self.plan.delay).await;
        self.objects.get(name, range).await
    }

    async fn size(&self, name: &ObjectName) -> Result<Option<u64>> {
        self.wait(self.plan.delay).await;
        self.objects.size(name).await
    }

    async fn delete(&self, name: &ObjectName) -> Result<()> {
        self.change(Change::Delete(*name)).await
    }

    fn list(&self) -> BoxStream<'static, Result<ObjectName>> {
        self.objects.list()
    }

    async fn tidy(&self, older_than: Duration) -> Result<usize> {
        self.objects.tidy(older_than).await
    }
}
