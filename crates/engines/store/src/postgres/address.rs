//! Where a server is and how to get there, from the URL that a person wrote.

use std::time::Duration;

use tokio_postgres::config::{Host, SslMode};
use tokio_postgres::error::Error as PgError;
use tokio_postgres::tls::MakeTlsConnect;
use tokio_postgres::{Client, Config, Connection, Socket};

use super::failure;
use super::tls::{self, Mode, Tls};
use crate::{Error, Result};

const CONNECT: Duration = Duration::from_secs(5);
/// How long sent bytes may stay unacknowledged before the connection counts as broken.
const UNACKNOWLEDGED: Duration = Duration::from_secs(10);
const KEEPALIVE_IDLE: Duration = Duration::from_secs(10);
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(5);
const KEEPALIVE_RETRIES: u32 = 3;

type TlsStream = <Tls as MakeTlsConnect<Socket>>::Stream;

pub(super) struct Address {
    config: Config,
    tls: Tls,
    mode: Mode,
    /// `host:port`, the only part of the address that errors and logs show.
    pub(super) place: String,
}

impl Address {
    /// Reads the URL of the server with this number (from 1). No error repeats a part of it: where a URL is broken,
    /// any part may be the password.
    pub(super) fn parse(url: &str, number: usize) -> Result<Self> {
        let (url, mode) = tls::mode(url).ok_or_else(|| {
            Error::invalid(format!(
                "the sslmode of PostgreSQL server {number} is none of disable, prefer, require and verify-full"
            ))
        })?;
        let broken = || {
            Error::invalid(format!(
                "the address of PostgreSQL server {number} is not of the form \
                 postgres://user:password@host:port/database (other signs than letters and digits in the password are \
                 written as %XX)"
            ))
        };
        let mut config: Config = url.parse().map_err(|_| broken())?;
        let place = place(&config).ok_or_else(|| {
            Error::invalid(format!("the address of PostgreSQL server {number} names no host"))
        })?;
        // A password with a bare @ has put its end in front of the host.
        if place.contains('@') {
            return Err(broken());
        }
        config.ssl_mode(mode.ssl_mode());
        if config.get_application_name().is_none() {
            config.application_name("dvor");
        }
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(CONNECT);
        }
        if config.get_tcp_user_timeout().is_none() {
            config.tcp_user_timeout(UNACKNOWLEDGED);
        }
        config.keepalives_idle(KEEPALIVE_IDLE);
        config.keepalives_interval(KEEPALIVE_INTERVAL);
        config.keepalives_retries(KEEPALIVE_RETRIES);
        Ok(Self { config, tls: tls::connector(&mode)?, mode, place })
    }

    /// Connects as `sslmode` says: with `prefer` also without encryption, if the server or its certificate will not have it.
    pub(super) async fn connect(&self) -> Result<(Client, Connection<Socket, TlsStream>)> {
        let encrypted = match self.config.connect(self.tls.clone()).await {
            Ok(connected) => return Ok(connected),
            Err(error) => error,
        };
        let refused = failure::is_tls(&encrypted) || failure::is_no_entry(&encrypted);
        if !self.mode.may_be_plain() || !refused {
            return Err(self.failed(&encrypted));
        }
        let mut plain = self.config.clone();
        plain.ssl_mode(SslMode::Disable);
        match plain.connect(self.tls.clone()).await {
            Ok(connected) => {
                tracing::warn!(
                    place = self.place,
                    "the connection is not encrypted: {}",
                    self.failed(&encrypted)
                );
                Ok(connected)
            }
            Err(error) => {
                let (kind, first) = (self.failed(&error), self.failed(&encrypted));
                Err(Error::new(kind.kind(), format!("{first}; without encryption: {kind}")))
            }
        }
    }

    fn failed(&self, error: &PgError) -> Error {
        if failure::is_tls(error) {
            failure::of_tls(&self.place, self.mode.name(), error)
        } else {
            failure::did_not_happen(&self.place, error)
        }
    }
}

fn place(config: &Config) -> Option<String> {
    let ports = config.get_ports();
    let names: Vec<String> = config
        .get_hosts()
        .iter()
        .enumerate()
        .map(|(index, host)| match host {
            Host::Tcp(name) => {
                format!("{name}:{}", ports.get(index).or(ports.first()).copied().unwrap_or(5432))
            }
            #[cfg(unix)]
            Host::Unix(path) => path.display().to_string(),
        })
        .collect();
    if names.is_empty() { None } else { Some(names.join(",")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_shows_only_its_host_and_port() {
        let address = Address::parse("postgres://me:secret@db.example:6000/dvor", 1).unwrap();
        assert_eq!(address.place, "db.example:6000");
        assert_eq!(Address::parse("postgresql://me@db.example", 1).unwrap().place, "db.example:5432");
    }

    #[test]
    fn broken_addresses_are_refused_without_repeating_them() {
        for url in [
            "postgres://me:sec@ret@host/dvor",
            "postgres://me:secret@host:notaport/dvor",
            "postgres://me:secret@host/dvor?sslmode=secret",
            "postgres://me:secret@/dvor",
        ] {
            let error = Address::parse(url, 2).err().unwrap_or_else(|| panic!("{url} was taken")).to_string();
            assert!(error.contains("server 2") && !error.contains("ret"), "{error}");
        }
    }
}
