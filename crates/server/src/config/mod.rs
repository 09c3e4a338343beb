//! The configuration: defaults compiled in, then a TOML file, then the environment, then flags.
//!
//! `config/default.toml` is the list of all keys and, by its values, of their types; `settings.rs` lays the sources
//! over it and remembers where each value came from; this file turns the result into a typed [`Config`].

mod plugins;
mod settings;
mod values;

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};

pub use settings::{Entry, Settings, Source, closest, redact};
pub use values::{Listen, LogFormat};

use crate::roles::Roles;

/// What a process was told to do.
#[derive(Clone, Debug)]
pub struct Config {
    pub roles: Roles,
    pub data: PathBuf,
    /// As `Store::open` takes them.
    pub store: Vec<String>,
    pub topics: String,
    pub files: String,
    pub http: Listen,
    pub grpc: Listen,
    pub snippets: Listen,
    pub snippets_options: snippets::Options,
    pub log: Log,
    pub otel: Otel,
    pub limits: Limits,
    pub store_options: store::Options,
    pub topic: Topic,
    pub downloads: Downloads,
    pub photos: photos::Settings,
    pub offers: offers::Settings,
    pub feeds: feeds::config::Settings,
    pub stages: stages::Settings,
    /// Stages of other programs, by id.
    pub plugins: Vec<(String, stages::api::PluginRequest)>,
    /// Who is asked whether a linked video is still there.
    pub video_providers: Vec<stages::builtin::video::Provider>,
    /// `None`: the shipped catalog.
    pub catalog: Option<PathBuf>,
}

#[derive(Clone, Debug)]
pub struct Log {
    pub level: String,
    pub format: LogFormat,
}

#[derive(Clone, Debug)]
pub struct Otel {
    pub endpoint: Option<String>,
    pub service_name: String,
}

#[derive(Clone, Debug)]
pub struct Limits {
    pub body_bytes: usize,
    pub request_timeout: Duration,
    /// 0: no limit.
    pub requests_per_second: u32,
    pub requests_burst: u32,
    pub connections: usize,
    pub connections_per_address: usize,
    pub trusted_proxies: Vec<fetch::IpNet>,
    pub drain: Duration,
    pub shutdown: Duration,
}

/// What downloads of feeds and photos may reach, and how.
#[derive(Clone, Debug)]
pub struct Downloads {
    pub allowed: Vec<fetch::IpNet>,
    pub proxy: Option<fetch::Proxy>,
}

#[derive(Clone, Debug)]
pub struct Topic {
    pub partitions: u32,
    pub retention: Duration,
    pub retention_bytes: u64,
    /// 0: as the broker has it.
    pub replication: u32,
}

impl Config {
    pub fn from_settings(settings: &Settings) -> Result<Self> {
        let data = data_folder(&settings.text("data")?)?;
        let store = store_urls(settings, &data)?;
        let roles: Roles = settings.read("roles", |names: Vec<String>| Roles::parse(&names))?;
        if is_embedded(&store) && !roles.is_all() {
            bail!(
                "the embedded store serves one process, which must run all roles: leave out --roles, or use a \
                 PostgreSQL store (--store postgres://…) to run roles in processes of their own"
            );
        }
        Ok(Self {
            topics: settings.read("topics", topics_url)?,
            files: settings.read("files", |url| files_url(url, &data))?,
            http: settings.read("http", |text: String| text.parse())?,
            grpc: settings.read("grpc", |text: String| text.parse())?,
            snippets: settings.read("snippets", |text: String| text.parse())?,
            snippets_options: snippets_options(settings)?,
            log: Log {
                level: settings.read("log.level", |text: String| values::check_level(text))?,
                format: settings.read("log.format", |text: String| text.parse())?,
            },
            otel: Otel {
                endpoint: settings.read("otel.endpoint", values::check_collector)?,
                service_name: settings.text("otel.service_name")?,
            },
            limits: limits(settings)?,
            store_options: store::Options {
                cache_bytes: settings.number("embedded.cache_bytes")?,
                reserve_bytes: settings.number("embedded.reserve_bytes")?,
                connections: settings.number("postgres.connections")?,
                on_failure: crate::app::abort,
            },
            topic: topic(settings)?,
            downloads: Downloads {
                allowed: settings.read("allow_private_addresses", values::networks)?,
                proxy: settings.read("download_proxy", |text: String| values::proxy(&text))?,
            },
            photos: photos(settings)?,
            offers: offer_settings(settings)?,
            feeds: feed_settings(settings)?,
            stages: stage_settings(settings)?,
            plugins: plugins::read(settings)?,
            video_providers: settings.read("video_providers", |providers: Vec<String>| {
                let parsed = providers.iter().map(|provider| provider.parse().map_err(anyhow::Error::msg));
                parsed.collect()
            })?,
            catalog: file_or_none(settings, "catalog")?,
            roles,
            data,
            store,
        })
    }
}

fn topic(settings: &Settings) -> Result<Topic> {
    let partitions: u32 = settings.number("topic.partitions")?;
    if !(1..=u32::from(store::SHARDS)).contains(&partitions) {
        bail!("{}: a topic has 1 to {} partitions", settings.place("topic.partitions"), store::SHARDS);
    }
    Ok(Topic {
        partitions,
        retention: Duration::from_hours(settings.number("topic.retention_hours")?),
        retention_bytes: settings.number("topic.retention_bytes")?,
        replication: settings.number("topic.replication")?,
    })
}

impl Config {
    /// Whether this process is the only one on its store.
    pub fn store_is_embedded(&self) -> bool {
        is_embedded(&self.store)
    }
}

fn is_embedded(urls: &[String]) -> bool {
    urls.iter().any(|url| url.starts_with("embedded:"))
}

fn snippets_options(settings: &Settings) -> Result<snippets::Options> {
    Ok(snippets::Options {
        config: file_or_none(settings, "snippets_config")?,
        retry_pause: Duration::from_millis(settings.number("snippets_retry_pause_ms")?),
    })
}

/// The file or folder that a key names; empty: none.
fn file_or_none(settings: &Settings, key: &str) -> Result<Option<PathBuf>> {
    let name = settings.text(key)?;
    let absolute = || std::path::absolute(&name).with_context(|| format!("{key} {name:?}"));
    (!name.is_empty()).then(absolute).transpose()
}

fn limits(settings: &Settings) -> Result<Limits> {
    Ok(Limits {
        body_bytes: settings.number("limits.body_bytes")?,
        request_timeout: Duration::from_millis(settings.number("limits.request_timeout_ms")?),
        requests_per_second: settings.number("limits.requests_per_second")?,
        requests_burst: settings.number("limits.requests_burst")?,
        connections: settings.number("limits.connections")?,
        connections_per_address: settings.number("limits.connections_per_address")?,
        trusted_proxies: settings.read("trusted_proxies", values::networks)?,
        drain: Duration::from_millis(settings.number("limits.drain_ms")?),
        shutdown: Duration::from_millis(settings.number("limits.shutdown_ms")?),
    })
}

fn photos(settings: &Settings) -> Result<photos::Settings> {
    Ok(photos::Settings {
        max_bytes: settings.number("photos.max_bytes")?,
        max_pixels: settings.number("photos.max_pixels")?,
        min_side_pixels: settings.number("photos.min_side_pixels")?,
        format: settings.read("photos.format", |text: String| values::photo_format(&text))?,
        downloads: settings.number("photos.downloads")?,
        decoders: settings.number("photos.decoders")?,
        idle_timeout: Duration::from_millis(settings.number("photos.idle_timeout_ms")?),
        total_timeout: Duration::from_millis(settings.number("photos.total_timeout_ms")?),
    })
}

fn feed_settings(settings: &Settings) -> Result<feeds::config::Settings> {
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
        ..defaults
    })
}

fn offer_settings(settings: &Settings) -> Result<offers::Settings> {
    let days = |key: &str| -> Result<Duration> {
        let days: u32 = settings.number(key)?;
        Ok(Duration::from_hours(24 * u64::from(days)))
    };
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

fn stage_settings(settings: &Settings) -> Result<stages::Settings> {
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

fn data_folder(configured: &str) -> Result<PathBuf> {
    if !configured.is_empty() {
        return std::path::absolute(configured).with_context(|| format!("the data folder {configured:?}"));
    }
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    if let Some(folder) = set("XDG_DATA_HOME") {
        return Ok(folder.join("dvor"));
    }
    match set("HOME") {
        Some(home) => Ok(home.join(".local/share/dvor")),
        None => bail!("there is no home folder to keep the data in: name a folder with --data DIR"),
    }
}

fn store_urls(settings: &Settings, data: &std::path::Path) -> Result<Vec<String>> {
    let whole = |url: String| match url.split_once(':') {
        None if url == "embedded" => Ok(format!("embedded:{}", data.join("store").display())),
        Some(("embedded", folder)) if !folder.is_empty() => Ok(url),
        Some(("postgres" | "postgresql", _)) => Ok(url),
        // It may hold a password, so it is not repeated.
        _ => bail!("a store is embedded, embedded:DIR or postgres://USER@HOST/DATABASE"),
    };
    settings.read("store", |value: toml::Value| {
        let urls: Vec<String> = match value {
            toml::Value::String(url) => vec![url],
            list => list.try_into()?,
        };
        let urls: Vec<String> = urls.into_iter().map(whole).collect::<Result<_>>()?;
        match urls.as_slice() {
            [] => bail!("a store needs at least one server"),
            [_, _, ..] if is_embedded(&urls) => bail!("only PostgreSQL servers can be several"),
            _ => Ok(urls),
        }
    })
}

fn topics_url(url: String) -> Result<String> {
    match url.as_str() {
        "embedded" | "embedded:" => Ok("embedded:".to_owned()),
        _ if url.starts_with("kafka://") => Ok(url),
        _ => bail!("topics are embedded or kafka://HOST:PORT, not {url:?}"),
    }
}

fn files_url(url: String, data: &std::path::Path) -> Result<String> {
    match url.split_once(':') {
        None if url == "file" => Ok(format!("file:{}", data.join("files").display())),
        Some(("file", folder)) if !folder.is_empty() => Ok(url),
        Some(("s3", _)) => Ok(url),
        // It may hold a key, so it is not repeated.
        _ => bail!("files are kept in file, file:DIR or s3://BUCKET/PREFIX"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(text: &str, env: &[(&str, &str)]) -> Result<Config> {
        let env: Vec<_> = env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let mut settings = Settings::defaults();
        settings.lay_file(std::path::Path::new("dvor.toml"), text)?;
        settings.lay_environment(env)?;
        Config::from_settings(&settings)
    }

    #[test]
    fn defaults_are_a_whole_configuration() {
        let config = config("data = \"/srv/dvor\"", &[]).unwrap();
        assert_eq!(config.http.to_string(), "127.0.0.1:7080");
        assert_eq!(config.store, ["embedded:/srv/dvor/store"]);
        assert!(config.roles.is_all() && config.otel.endpoint.is_none());
    }

    #[test]
    fn a_bad_value_is_one_sentence_with_its_place() {
        let check = |text: &str, expected: &str| {
            let error = format!("{:#}", config(text, &[]).unwrap_err());
            assert_eq!(error, expected);
        };
        check(
            "\nhttp = \"somewhere\"",
            "dvor.toml, line 2: http: \"somewhere\" is not an address such as 127.0.0.1:7080",
        );
        check("[log]\nformat = \"xml\"", "dvor.toml, line 2: log.format: \"xml\" is not auto, human or json");
        check(
            "otel.endpoint = \"collector:4317\"",
            "dvor.toml, line 1: otel.endpoint: \"collector:4317\" is not an address such as http://127.0.0.1:4317",
        );
        check("limits.body_bytes = -5", "dvor.toml, line 1: limits.body_bytes: -5 is out of range");
        check(
            "roles = [\"api\", \"rellay\"]",
            "dvor.toml, line 1: roles: there is no role \"rellay\"; did you mean \"relay\"?",
        );
        check(
            "allow_private_addresses = [\"10.0.0.0/40\"]",
            "dvor.toml, line 1: allow_private_addresses: \"10.0.0.0/40\" is not a network such as 10.1.0.0/16",
        );
    }

    #[test]
    fn plug_ins_are_named_by_their_section() {
        let text = "[stages.plugin.colors]\naddress = \"http://c:7090\"\nmasks = [\"title\"]\ncalls_per_second = 50\nsaved = \"call\"\n\n[stages.plugin.sizes]\naddress = \"http://s:7090\"\n";
        let config = config(text, &[("DVOR_STAGES__PLUGIN__SIZES__ADDRESS", "http://other:1")]).unwrap();
        let [(colors, first), (sizes, second)] = config.plugins.as_slice() else {
            panic!("{:?}", config.plugins)
        };
        assert_eq!((colors.as_str(), first.address.as_str()), ("colors", "http://c:7090"));
        assert_eq!((first.masks.as_deref(), first.calls_per_second), (Some(&["title".to_owned()][..]), 50.0));
        assert_eq!(
            (sizes.as_str(), second.address.as_str(), &second.masks),
            ("sizes", "http://other:1", &None)
        );
    }

    #[test]
    fn a_wrong_plug_in_is_one_sentence_with_its_place() {
        let check = |text: &str, expected: &str| {
            let text = format!("[stages.plugin.colors]\n{text}");
            assert_eq!(format!("{:#}", config(&text, &[]).unwrap_err()), expected);
        };
        check(
            "adress = \"x\"",
            "dvor.toml, line 2: unknown key \"stages.plugin.colors.adress\"; did you mean \"address\"?",
        );
        check("masks = []", "dvor.toml, line 2: stages.plugin.colors lacks an address");
        check(
            "address = \"colors:7090\"",
            "dvor.toml, line 2: stages.plugin.colors: address: \"colors:7090\" is not an address such as http://127.0.0.1:7090",
        );
        check(
            "address = \"http://c:1\"\ndeadline_ms = 9000",
            "dvor.toml, line 2: stages.plugin.colors: deadline_ms: a deadline is at most 3000 ms; 0 is the usual one",
        );
        check(
            "address = \"http://c:1\"\nsaved = \"often\"",
            "dvor.toml, line 3: stages.plugin.colors.saved: \"often\" is not none, topic or call",
        );
        let missing =
            config("[stages.plugin.c]\naddress = \"https://c:1\"\ntls_ca_file = \"/no/ca.pem\"", &[]);
        assert!(
            format!("{:#}", missing.unwrap_err()).contains("dvor.toml, line 3: stages.plugin.c.tls_ca_file")
        );
    }

    #[test]
    fn the_embedded_store_refuses_split_roles() {
        let error = config("roles = [\"api\"]", &[]).unwrap_err().to_string();
        assert!(error.contains("must run all roles"), "{error}");
        assert!(config("roles = [\"api\"]\nstore = \"postgres://db/dvor\"", &[]).is_ok());
    }

    #[test]
    fn the_environment_reaches_every_key() {
        let env = [
            ("DVOR_LOG__LEVEL", "debug"),
            ("DVOR_LIMITS__BODY_BYTES", "1000"),
            ("DVOR_ROLES", "api,relay"),
            ("DVOR_STORE", "[\"postgres://a/d\", \"postgres://b/d\"]"),
        ];
        let config = config("log.level = \"warn\"", &env).unwrap();
        assert_eq!((config.log.level.as_str(), config.limits.body_bytes), ("debug", 1000));
        assert_eq!(config.store, ["postgres://a/d", "postgres://b/d"]);
    }
}
