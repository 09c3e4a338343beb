//! The settings of the flow crates.

use std::time::Duration;

use anyhow::{Result, bail};

use super::{Settings, values};

pub(super) fn photos(settings: &Settings) -> Result<photos::Settings> {
    Ok(photos::Settings {
        max_bytes: settings.number("photos.max_bytes")?,
        max_pixels: settings.number("photos.max_pixels")?,
        min_side_pixels: settings.number("photos.min_side_pixels")?,
        format: settings.read("photos.format", |text: String| values::photo_format(&text))?,
        downloads: settings.number("photos.downloads")?,
        decoders: settings.number("photos.decoders")?,
        idle_timeout: Duration::from_millis(settings.number("photos.idle_timeout_ms")?),
        total_timeout: Duration::from_millis(settings.number("photos.total_timeout_ms")?),
        public_originals: settings.read("photos.public_originals", Ok)?,
        uploads_per_hour: settings.number("photos.uploads_per_hour")?,
        upload_bytes_per_hour: settings.number("photos.upload_bytes_per_hour")?,
        keep_unused: days(settings, "photos.keep_unused_days")?,
    })
}

pub(super) fn feeds(settings: &Settings) -> Result<feeds::config::Settings> {
    let minutes = |key: &str| -> Result<Duration> {
        let minutes: u32 = settings.number(key)?;
        Ok(Duration::from_mins(u64::from(minutes)))
    };
    let defaults = feeds::config::Settings::default();
    let loads: usize = settings.number("feeds.loads")?;
    Ok(feeds::config::Settings {
        period: minutes("feeds.period_minutes")?,
        min_period: minutes("feeds.min_period_minutes")?,
        guard_percent: settings.number("feeds.guard_percent")?,
        max_file_bytes: settings.number("feeds.max_file_bytes")?,
        keep_tasks: settings.number("feeds.keep_tasks")?,
        results_patience: minutes("feeds.results_patience_minutes")?,
        downloads: settings.number("feeds.downloads")?,
        loads: if loads == 0 { defaults.loads } else { loads },
        idle_timeout: Duration::from_millis(settings.number("feeds.idle_timeout_ms")?),
        total_timeout: minutes("feeds.total_timeout_minutes")?,
        max_namespaces: settings.number("feeds.max_namespaces")?,
        uploads_per_hour: settings.number("feeds.uploads_per_hour")?,
        upload_bytes_per_hour: settings.number("feeds.upload_bytes_per_hour")?,
        fetches_per_hour: settings.number("feeds.fetches_per_hour")?,
        reruns_per_hour: settings.number("feeds.reruns_per_hour")?,
        ..defaults
    })
}

pub(super) fn offers(settings: &Settings) -> Result<offers::Settings> {
    let days = |key| days(settings, key);
    Ok(offers::Settings {
        lifetime: days("offers.lifetime_days")?,
        feed_lifetime: days("offers.feed_lifetime_days")?,
        archive_after: days("offers.archive_after_days")?,
        events_kept: days("offers.events_days")?,
        revive_within: days("offers.revive_days")?,
        counter_stripes: settings.number("offers.counter_stripes")?,
        wait_for_photo: settings.read("offers.wait_for_photo", Ok)?,
        max_offers: settings.number("offers.max_offers")?,
    })
}

fn days(settings: &Settings, key: &str) -> Result<Duration> {
    let days: u32 = settings.number(key)?;
    Ok(Duration::from_hours(24 * u64::from(days)))
}

pub(super) fn stages(settings: &Settings) -> Result<stages::Settings> {
    let most = stages::MAX_DEADLINE.as_millis();
    let time = |key: &str| -> Result<Duration> {
        let ms: u64 = settings.number(key)?;
        if ms == 0 || u128::from(ms) > most {
            bail!("{}: it is 1 to {most} ms", settings.place(key));
        }
        Ok(Duration::from_millis(ms))
    };
    let positive = |key: &str| -> Result<u32> {
        match settings.number(key)? {
            0 => bail!("{}: it is at least 1", settings.place(key)),
            number => Ok(number),
        }
    };
    Ok(stages::Settings {
        ask_timeout: time("stages.ask_timeout_ms")?,
        deadline: time("stages.deadline_ms")?,
        walk_per_second: positive("stages.walk_per_second")?,
        at_once: positive("stages.at_once")? as usize,
    })
}
