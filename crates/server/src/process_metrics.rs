//! What the process itself uses, and the room that is left on its disk. Read when somebody asks for the metrics, so that
//! nothing runs for it in between.

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use metrics::gauge;

/// Linux tells processor time to programs in hundredths of a second, whatever its own clock does.
const TICKS_PER_SECOND: f64 = 100.0;

/// Sets the gauges of this process. Where the system has no `/proc`, those it would tell are left out.
pub fn sample(data: &Path) {
    gauge!("dvor_build_info", "version" => env!("CARGO_PKG_VERSION")).set(1);
    if let Ok(disk) = rustix::fs::statvfs(data) {
        gauge!("dvor_disk_free_bytes").set((disk.f_bavail * disk.f_frsize) as f64);
        gauge!("dvor_disk_size_bytes").set((disk.f_blocks * disk.f_frsize) as f64);
    }
    if let Some(usage) = usage() {
        gauge!("dvor_process_cpu_used").set(usage.cpu_seconds);
        gauge!("dvor_process_resident_bytes").set(usage.resident_bytes as f64);
        gauge!("dvor_process_threads").set(usage.threads as f64);
        gauge!("dvor_process_started").set(usage.started);
    }
    if let Ok(files) = std::fs::read_dir("/proc/self/fd") {
        gauge!("dvor_process_open_files").set(files.count() as f64);
    }
}

struct Usage {
    cpu_seconds: f64,
    resident_bytes: u64,
    threads: u64,
    /// Seconds since 1970.
    started: f64,
}

fn usage() -> Option<Usage> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    // The name of the program may hold anything, so fields are counted from behind it: the first is the state.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let number = |index: usize| fields.get(index)?.parse::<u64>().ok();
    let uptime: f64 =
        std::fs::read_to_string("/proc/uptime").ok()?.split_whitespace().next()?.parse().ok()?;
    let age = uptime - number(19)? as f64 / TICKS_PER_SECOND;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).ok()?.as_secs_f64();
    Some(Usage {
        cpu_seconds: (number(11)? + number(12)?) as f64 / TICKS_PER_SECOND,
        resident_bytes: resident_bytes()?,
        threads: number(17)?,
        started: now - age,
    })
}

fn resident_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? << 10)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn the_process_knows_what_it_uses() {
        let usage = usage().unwrap();
        assert!(usage.resident_bytes > 1 << 20, "{}", usage.resident_bytes);
        assert!(usage.threads >= 1);
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs_f64();
        assert!(usage.started <= now + 1.0 && usage.started > now - 86_400.0, "{}", usage.started);
    }
}
