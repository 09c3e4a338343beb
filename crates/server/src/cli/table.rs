use anyhow::Result;
use clap::Subcommand;

use super::backend::{Backend, segment};
use super::exit::{self, Failure};
use super::{Common, print, print_columns, print_json};
use crate::http::{Row, TableInfo};
use web::Page;

/// Look into the tables of the store
#[derive(Subcommand)]
pub enum TableCommand {
    /// List the tables
    #[command(after_help = "Example:\n  dvor table list")]
    List,
    /// Print rows of a table, decoded
    #[command(
        after_help = "Examples:\n  dvor table scan access.tokens\n  dvor table scan feeds.tasks --prefix north-tools --limit 5 --json"
    )]
    Scan {
        /// system.name
        table: String,
        /// Only keys that begin with these columns (one --prefix for each)
        #[arg(long, value_name = "VALUE", allow_hyphen_values = true)]
        prefix: Vec<String>,
        /// Only this shard
        #[arg(long, value_name = "NUMBER")]
        shard: Option<u16>,
        /// Most rows
        #[arg(long, value_name = "ROWS", default_value_t = 100)]
        limit: usize,
    },
}

/// Most rows asked for at a time.
const PAGE: usize = 1_000;

impl TableCommand {
    pub async fn run(self, common: &Common) -> Result<()> {
        let backend = Backend::open(common).await?;
        let done = match self {
            Self::List => list(&backend, common.json).await,
            Self::Scan { table, prefix, shard, limit } => {
                scan(&backend, common.json, &table, &prefix, shard, limit).await
            }
        };
        backend.close().await?;
        done
    }
}

async fn list(backend: &Backend, json: bool) -> Result<()> {
    let page: Page<TableInfo> = backend.get("/v1/admin/tables", &[]).await?;
    if json {
        return print_json(&page);
    }
    let row = |table: &TableInfo| vec![table.table.clone(), table.columns.join(", ")];
    print_columns(&["TABLE", "KEY"], &page.items.iter().map(row).collect::<Vec<_>>())
}

/// Prints pages as they come, so that a large table does not have to fit into memory. With `json`, one row per line.
async fn scan(
    backend: &Backend,
    json: bool,
    table: &str,
    prefix: &[String],
    shard: Option<u16>,
    limit: usize,
) -> Result<()> {
    let Some((system, name)) = table.split_once('.') else {
        return Err(Failure::of(exit::USAGE, format!("a table is named system.name, not {table:?}")));
    };
    let path = format!("/v1/admin/tables/{}/{}", segment(system), segment(name));
    let (mut left, mut cursor) = (limit, None);
    while left > 0 {
        let mut query = vec![("limit", left.min(PAGE).to_string())];
        if !prefix.is_empty() {
            query.push(("prefix", serde_json::to_string(prefix)?));
        }
        query.extend(shard.map(|shard| ("shard", shard.to_string())));
        query.extend(cursor.map(|cursor| ("cursor", cursor)));
        let page: Page<Row> = backend.get(&path, &query).await?;
        for row in &page.items {
            print(&if json { serde_json::to_string(row)? } else { line(row) })?;
        }
        left = left.saturating_sub(page.items.len());
        cursor = page.next_cursor;
        if cursor.is_none() {
            break;
        }
    }
    Ok(())
}

fn line(row: &Row) -> String {
    let key: Vec<_> = row.key.iter().map(|(name, value)| format!("{name}={value}")).collect();
    format!("shard {:<4}  {}  {}", row.shard, key.join(" "), row.value)
}
