use rustc_hash::FxHashMap;

use crate::{Error, Result, TableSpec};

/// A table's place in the [`Schema`] of this process. Never stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TableId(pub u16);

/// All tables that a process knows.
#[derive(Debug)]
pub struct Schema {
    tables: Vec<TableSpec>,
    by_name: FxHashMap<(&'static str, &'static str), TableId>,
}

impl Schema {
    /// Gathers declarations, and adds the store's own. Two tables of one name are a mistake in the program.
    pub fn new(tables: impl IntoIterator<Item = TableSpec>) -> Self {
        let tables: Vec<_> = tables.into_iter().chain([crate::copy::MARKS.spec()]).collect();
        let mut by_name = FxHashMap::default();
        for (index, table) in tables.iter().enumerate() {
            let before = by_name.insert((table.system, table.name), TableId(index as u16));
            assert!(before.is_none(), "table {} is declared twice", table.full_name());
        }
        Self { tables, by_name }
    }

    pub fn id(&self, system: &str, name: &str) -> Result<TableId> {
        // The map's keys are 'static, a caller's text need not be: the lookup only compares them.
        self.by_name
            .get(&(system, name))
            .copied()
            .ok_or_else(|| Error::invalid(format!("table {system}.{name} is not declared in this process")))
    }

    pub fn table(&self, id: TableId) -> &TableSpec {
        &self.tables[usize::from(id.0)]
    }

    pub fn tables(&self) -> impl Iterator<Item = (TableId, &TableSpec)> {
        self.tables.iter().enumerate().map(|(index, table)| (TableId(index as u16), table))
    }

    pub fn len(&self) -> usize {
        self.tables.len()
    }

    pub fn is_empty(&self) -> bool {
        self.tables.is_empty()
    }
}
