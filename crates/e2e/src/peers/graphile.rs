//! graphile-worker, a job queue on PostgreSQL: what as many jobs that do nothing cost there.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, ensure};

/// How graphile-worker takes and completes its jobs.
#[derive(Clone, Copy, Debug)]
pub enum Mode {
    /// As it comes: every job is taken and completed by itself.
    Plain,
    /// A local queue of 500, completions in batches.
    Batched,
}

const SCRIPT: &str = r#"
const { runMigrations, run, quickAddJob, makeWorkerUtils } = require("graphile-worker");
const { Pool } = require("pg");
const [url, count, mode] = [process.argv[2], Number(process.argv[3]), process.argv[4]];
(async () => {
  const pool = new Pool({ connectionString: url, max: 26 });
  const utils = await makeWorkerUtils({ pgPool: pool });
  await utils.migrate();
  for (let first = 0; first < count; first += 10000) {
    const last = Math.min(first + 10000, count);
    await pool.query(
      "select 1 from graphile_worker.add_jobs((select array_agg(json_populate_record(null::graphile_worker.job_spec, " +
      "json_build_object('identifier', 'nothing', 'payload', json_build_object('n', n)))) from generate_series($1::int, $2::int) n))",
      [first, last - 1]);
  }
  await pool.query("vacuum analyze graphile_worker._private_jobs");
  let left = count;
  let over;
  const done = new Promise((resolve) => (over = resolve));
  const began = process.hrtime.bigint();
  const batched = { localQueue: { size: 500 }, completeJobBatchDelay: 0, failJobBatchDelay: 0 };
  const runner = await run({
    pgPool: pool,
    noHandleSignals: true,
    logger: new (require("graphile-worker").Logger)(() => () => {}),
    taskList: { nothing: async () => { if (--left === 0) over(); } },
    preset: { worker: { concurrentJobs: 24, ...(mode === "batched" ? batched : {}) } },
  });
  await done;
  await runner.stop();
  const seconds = Number(process.hrtime.bigint() - began) / 1e9;
  const rest = await pool.query("select count(*)::int as n from graphile_worker._private_jobs");
  console.log(JSON.stringify({ per_second: count / seconds, rest: rest.rows[0].n }));
  await utils.release();
  await pool.end();
})().catch((error) => { console.error(error); process.exit(1); });
"#;

/// Jobs a second, from the start of the worker until all jobs are gone from the table.
pub fn jobs_per_second(database: &str, count: u64, mode: Mode) -> anyhow::Result<f64> {
    let folder = super::installed("graphile-worker", install)?;
    let script = folder.join("bench.js");
    std::fs::write(&script, SCRIPT)?;
    let mode = match mode {
        Mode::Plain => "plain",
        Mode::Batched => "batched",
    };
    let output = Command::new("node")
        .current_dir(&folder)
        .arg(script)
        .args([database, &count.to_string(), mode])
        .stderr(Stdio::inherit())
        .output()
        .context("node")?;
    ensure!(output.status.success(), "graphile-worker failed");
    let said: serde_json::Value = serde_json::from_slice(&output.stdout)?;
    ensure!(said["rest"] == 0, "graphile-worker left jobs: {said}");
    said["per_second"].as_f64().context("a rate")
}

fn install(folder: &Path) -> anyhow::Result<()> {
    let status = Command::new("npm")
        .current_dir(folder)
        .args(["install", "--silent", "--no-audit", "--no-fund", "graphile-worker@0.18", "pg@8"])
        .stdout(Stdio::null())
        .status()
        .context("npm")?;
    ensure!(status.success(), "npm cannot install graphile-worker");
    Ok(())
}
