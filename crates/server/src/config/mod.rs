//! The configuration: defaults compiled in, then a TOML file, then the environment, then flags.
//!
//! `config/default.toml` is the list of all keys and, by its values, of their types; `settings.rs` lays the sources
//! over it and remembers where each value came from; this file turns the result into a typed [`Config`].

mod flows;
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
    pub snippets_settings: snippets::Settings,
    pub log: Log,
    pub otel: Otel,
    pub limits: Limits,
    pub store_options: store::Options,
    pub topic: Topic,
    pub downloads: Downloads,
    pub photos: photos::Settings,
    /// Kept free by files on the disk of the data folder.
    pub files_reserve_bytes: u64,
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
    /// Of all bodies that are in memory.
    pub bodies_bytes: usize,
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
    pub ports: Vec<u16>,
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
            snippets_settings: snippets_settings(settings)?,
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
                ports: settings.read("download_ports", Ok)?,
            },
            photos: flows::photos(settings)?,
            files_reserve_bytes: files_reserve(settings)?,
            offers: flows::offers(settings)?,
            feeds: flows::feeds(settings)?,
            stages: flows::stages(settings)?,
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

/// What files leave free beyond the store's reserve, at least.
const MIN_ROOM_ABOVE_STORE: u64 = 512 << 20;

/// Files leave more free than the store needs: an upload is refused while tokens can still be revoked.
fn files_reserve(settings: &Settings) -> Result<u64> {
    let (files, store): (u64, u64) =
        (settings.number("limits.files_reserve_bytes")?, settings.number("embedded.reserve_bytes")?);
    Ok(files.max(store.saturating_add(MIN_ROOM_ABOVE_STORE)))
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

fn snippets_settings(settings: &Settings) -> Result<snippets::Settings> {
    Ok(snippets::Settings {
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
        bodies_bytes: settings.number("limits.bodies_bytes")?,
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
        _ => bail!("topics are embedded or kafka://HOST:PORT, not {:?}", settings::redact(&url)),
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
            "log.level = \"verbose\"",
            "dvor.toml, line 1: log.level: \"verbose\" is not off, error, warn, info, debug or trace, alone or as \
             MODULE=LEVEL, joined by commas",
        );
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
    fn no_password_is_repeated_in_an_error() {
        for text in [
            "topics = \"kafka//me:hunter2@broker\"",
            "topics = \"kafk://me:hunter2@broker\"",
            "otel.endpoint = \"https://me:hunter2@collector\"",
            "store = \"mysql://me:hunter2@db/dvor\"",
            "files = \"ftp://me:hunter2@files\"",
            "download_proxy = \"socks://me:hunter2@proxy\"",
            "store = \"postgres://me:hunter2@db/dvor",
            "http = \"http://me:hunter2@127.0.0.1:7080\"",
            "trusted_proxies = [\"me:hunter2@proxy\"]",
        ] {
            let error = format!("{:#}", config(text, &[]).unwrap_err());
            assert!(!error.contains("hunter2"), "{error}");
        }
        let env = [("DVOR_STORE", "postgre://me:hunter2@db")];
        assert!(!format!("{:#}", config("", &env).unwrap_err()).contains("hunter2"));
    }

    /// An upload must be refused while the store still takes writes.
    #[test]
    fn files_leave_more_free_than_the_store() {
        for text in ["", "embedded.reserve_bytes = 8_589_934_592", "limits.files_reserve_bytes = 0"] {
            let config = config(text, &[]).unwrap();
            assert!(config.files_reserve_bytes >= config.store_options.reserve_bytes + (512 << 20), "{text}");
        }
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
