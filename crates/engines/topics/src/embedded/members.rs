use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cluster::Cluster;
use tokio::sync::watch;

use crate::backend::Description;

/// The members of groups in this process: they share among them what the process may read.
#[derive(Clone, Default)]
pub(super) struct Members(Arc<Mutex<HashMap<(String, String), Group>>>);

struct Group {
    /// Grows with each that joins, so that the order of members is that of joining.
    next: u64,
    members: Vec<u64>,
    changes: watch::Sender<u64>,
}

/// A place in a group; given up when dropped, and with the last one the process's right to read.
pub(super) struct Membership {
    all: Members,
    group: (String, String),
    id: u64,
    cluster: Cluster,
    role: String,
    pub(super) changes: watch::Receiver<u64>,
}

/// The role under which a process may read for a group.
fn role(topic: &str, group: &str) -> String {
    format!("read:{topic}:{group}")
}

impl Members {
    pub(super) fn join(&self, cluster: &Cluster, topic: &Description, group: &str) -> Membership {
        let role = role(&topic.topic, group);
        let group = (topic.topic.clone(), group.to_owned());
        let mut groups = self.lock();
        cluster.register_role(&role, topic.partitions as u16);
        let entry = groups.entry(group.clone()).or_insert_with(|| Group {
            next: 0,
            members: Vec::new(),
            changes: watch::Sender::new(0),
        });
        let id = entry.next;
        entry.next += 1;
        entry.members.push(id);
        entry.changes.send_modify(|changes| *changes += 1);
        let changes = entry.changes.subscribe();
        drop(groups);
        Membership { all: self.clone(), group, id, cluster: cluster.clone(), role, changes }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<(String, String), Group>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Membership {
    pub(super) fn role(&self) -> &str {
        &self.role
    }

    /// Of the partitions that the process holds, those of this member.
    pub(super) fn share(&self, held: Vec<u32>) -> Vec<u32> {
        let groups = self.all.lock();
        let members = groups.get(&self.group).map_or(&[][..], |group| &group.members);
        let Some(place) = members.iter().position(|id| *id == self.id) else { return Vec::new() };
        held.into_iter()
            .enumerate()
            .filter(|(index, _)| index % members.len() == place)
            .map(|(_, p)| p)
            .collect()
    }
}

impl Drop for Membership {
    fn drop(&mut self) {
        let mut groups = self.all.lock();
        if let Some(group) = groups.get_mut(&self.group) {
            group.members.retain(|id| *id != self.id);
            if group.members.is_empty() {
                groups.remove(&self.group);
                self.cluster.withdraw_role(&self.role);
            } else {
                group.changes.send_modify(|changes| *changes += 1);
            }
        }
    }
}
