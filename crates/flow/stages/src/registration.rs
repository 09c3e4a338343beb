//! How a stage of another program comes into the registry: what may be said of it, and what follows from a change.
//!
//! One transaction writes the row. What must not be missed is made up for by a walk that begins when every writer of offers
//! knows the row: over all offers for a new stage and for masks that let more through.

use offers::stages::interests::MAX_STAGES;
use offers::stages::tables::{REGISTRY, registry_shard};
use store::{Range, Read as _, Tx};
use wire::stages::{RegistryRow, Saved, Tls};

use crate::config::MAX_DEADLINE;
use crate::patch::is_path;
use crate::registry::{is_wider, walk_all};
use crate::{Error, Result, Stages};

/// Longest id of a stage.
pub const MAX_ID_BYTES: usize = 64;
const MAX_ADDRESS_BYTES: usize = 500;
const MAX_MASKS: usize = 100;
const MAX_CALLS_PER_SECOND: f64 = 100_000.0;
const MAX_PARALLEL: u32 = 10_000;
const MAX_TRAVERSE_HOURS: u32 = 24 * 366;
const MAX_PEM_BYTES: usize = 64 << 10;
const MAX_DESCRIPTION_BYTES: usize = 1_000;

/// What those who run Dvor say of a stage of another program.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Registration {
    /// `http://host:port`, or `https://`.
    pub address: String,
    /// Paths that it is told of; none: every path.
    pub masks: Vec<String>,
    /// 0: the usual one.
    pub deadline_ms: u32,
    /// 0: no limit.
    pub calls_per_second: f64,
    /// 0: no limit.
    pub parallel: u32,
    pub saved: Saved,
    /// 0: never by itself.
    pub traverse_every_hours: u32,
    pub tls: Option<Tls>,
    /// What the program says of itself.
    pub description: String,
}

impl Stages {
    /// Enters a stage of another program, or changes it.
    pub async fn put(&self, id: &str, registration: &Registration) -> Result<RegistryRow> {
        check_registration(id, registration)?;
        if self.directory.builtins.iter().any(|builtin| builtin.id == id) {
            return Err(Error::Conflict(format!("the stage {id:?} comes with the program")));
        }
        let now = self.offers.clock.now();
        let write = async |tx: &mut Tx| {
            let before = tx.get(&REGISTRY, (id,)).await?;
            let after = match &before {
                Some(row) if row.removed_at != 0 => {
                    return Err(Error::Conflict(format!(
                        "the stage {id:?} is being removed; try again later"
                    )));
                }
                Some(row) if row.address.is_empty() => {
                    return Err(Error::Conflict(format!("the stage {id:?} comes with the program")));
                }
                Some(row) => {
                    let mut after = with(row, registration);
                    if is_wider(&after.masks, &row.masks) {
                        walk_all(&mut after, now, self.settings.walk_per_second);
                    }
                    after
                }
                None => {
                    if tx.scan(&REGISTRY, Range::all(MAX_STAGES)).await?.len() >= MAX_STAGES {
                        return Err(Error::Conflict(format!("there are {MAX_STAGES} stages already")));
                    }
                    let fresh = RegistryRow { registered_at: now.0, ..RegistryRow::default() };
                    let mut after = with(&fresh, registration);
                    walk_all(&mut after, now, self.settings.walk_per_second);
                    after
                }
            };
            if before.as_ref() == Some(&after) {
                return Ok(after);
            }
            let after = RegistryRow { generation: after.generation + 1, ..after };
            tx.put(&REGISTRY, (id,), &after)?;
            Ok(after)
        };
        let row = self.offers.store.transact(registry_shard(), write).await?;
        self.refresh().await?;
        Ok(row)
    }
}

/// The row with what is said now; what happened to the stage stays.
fn with(row: &RegistryRow, registration: &Registration) -> RegistryRow {
    let Registration { address, masks, deadline_ms, calls_per_second, parallel, .. } = registration.clone();
    RegistryRow {
        address,
        masks,
        deadline_ms,
        calls_per_second,
        parallel,
        saved: registration.saved.into(),
        traverse_every_hours: registration.traverse_every_hours,
        tls: registration.tls.clone(),
        description: registration.description.clone(),
        ..row.clone()
    }
}

fn check_id(id: &str) -> Result<()> {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_".contains(&byte);
    if id.is_empty() || id.len() > MAX_ID_BYTES || !id.bytes().all(plain) {
        let text =
            format!("a stage's id has 1 to {MAX_ID_BYTES} of the characters a-z, 0-9, - and _, not {id:?}");
        return Err(Error::Field("id", text));
    }
    Ok(())
}

/// Whether a stage could be registered so.
pub fn check_registration(id: &str, registration: &Registration) -> Result<()> {
    check_id(id)?;
    check(registration)
}

/// Every number and name of it.
fn check(registration: &Registration) -> Result<()> {
    let refuse = |field: &'static str, text: String| Err(Error::Field(field, text));
    check_address(registration)?;
    if registration.masks.len() > MAX_MASKS {
        return refuse("masks", format!("a stage has at most {MAX_MASKS} masks"));
    }
    if let Some(mask) = registration.masks.iter().find(|mask| !is_path(mask)) {
        return refuse("masks", format!("no field of an offer is called {mask:?}"));
    }
    let most = MAX_DEADLINE.as_millis();
    if u128::from(registration.deadline_ms) > most {
        return refuse("deadline_ms", format!("a deadline is at most {most} ms; 0 is the usual one"));
    }
    let rate = registration.calls_per_second;
    if !rate.is_finite() || !(0.0..=MAX_CALLS_PER_SECOND).contains(&rate) || (rate > 0.0 && rate < 0.01) {
        return refuse(
            "calls_per_second",
            format!("calls per second are 0 (no limit) or from 0.01 to {MAX_CALLS_PER_SECOND}"),
        );
    }
    if registration.parallel > MAX_PARALLEL {
        return refuse("parallel", format!("calls at a time are 0 (no limit) to {MAX_PARALLEL}"));
    }
    if registration.traverse_every_hours > MAX_TRAVERSE_HOURS {
        return refuse("traverse_every_hours", format!("it is 0 (never) to {MAX_TRAVERSE_HOURS} hours"));
    }
    if registration.description.len() > MAX_DESCRIPTION_BYTES {
        return refuse("description", format!("a description has at most {MAX_DESCRIPTION_BYTES} bytes"));
    }
    check_tls(registration)
}

fn check_address(registration: &Registration) -> Result<()> {
    let address = registration.address.as_str();
    let refuse = |text: String| Err(Error::Field("address", text));
    let rest = address.strip_prefix("http://").or_else(|| address.strip_prefix("https://"));
    let Some(rest) = rest.filter(|_| address.len() <= MAX_ADDRESS_BYTES) else {
        return refuse(format!("{address:?} is not an address such as http://127.0.0.1:7090"));
    };
    let authority = rest.strip_suffix('/').unwrap_or(rest);
    let plain = |c: char| c.is_ascii_alphanumeric() || ".-_:[]".contains(c);
    if authority.is_empty() || !authority.chars().all(plain) {
        return refuse(format!("{address:?} has more than a scheme, a host and a port"));
    }
    let port = authority.rsplit_once(':').filter(|(host, _)| !host.is_empty()).map(|(_, port)| port);
    if port.and_then(|port| port.parse::<u16>().ok()).is_none_or(|port| port == 0) {
        return refuse(format!("{address:?} lacks a port, such as :7090"));
    }
    Ok(())
}

fn check_tls(registration: &Registration) -> Result<()> {
    let Some(tls) = &registration.tls else { return Ok(()) };
    let refuse = |text: &str| Err(Error::Field("tls", text.to_owned()));
    if !registration.address.starts_with("https://") {
        return refuse("an address with TLS begins with https://");
    }
    if tls.certificate.is_empty() != tls.key.is_empty() {
        return refuse("a client certificate needs its key, and a key its certificate");
    }
    if [&tls.ca, &tls.certificate, &tls.key].iter().any(|pem| pem.len() > MAX_PEM_BYTES) {
        return refuse("a certificate or key is larger than 64 kB");
    }
    for (pem, word) in
        [(&tls.ca, "CERTIFICATE"), (&tls.certificate, "CERTIFICATE"), (&tls.key, "PRIVATE KEY")]
    {
        let is_pem = pem.contains("-----BEGIN ") && pem.contains(&format!("{word}-----"));
        if !pem.is_empty() && !is_pem {
            return refuse("certificates and keys are texts in PEM, from -----BEGIN on");
        }
    }
    let is_name = |c: char| c.is_ascii_alphanumeric() || "-._".contains(c);
    if tls.server_name.len() > 253 || !tls.server_name.chars().all(is_name) {
        return refuse("the server's name is not the name of a host");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn good() -> Registration {
        Registration { address: "http://plugin.local:7090".to_owned(), ..Registration::default() }
    }

    fn field(registration: &Registration) -> &'static str {
        match check(registration) {
            Ok(()) => "",
            Err(Error::Field(field, _)) => field,
            Err(other) => panic!("{other}"),
        }
    }

    #[test]
    fn every_number_and_name_has_its_bounds() {
        assert_eq!(field(&good()), "");
        let long = format!("http://{}:1", "h".repeat(600));
        for address in [
            "",
            "plugin:7090",
            "http://",
            "http://host",
            "http://host:0",
            "http://host:99999",
            "http://user@host:1",
            "http://host:1/path",
            "ftp://host:1",
            "http://:7090",
            &long,
        ] {
            assert_eq!(
                field(&Registration { address: address.to_owned(), ..good() }),
                "address",
                "{address}"
            );
        }
        for address in ["https://host:1/", "http://[::1]:7090", "http://10.0.0.1:65535"] {
            assert_eq!(field(&Registration { address: address.to_owned(), ..good() }), "", "{address}");
        }
        assert_eq!(field(&Registration { masks: vec!["colour".to_owned()], ..good() }), "masks");
        assert_eq!(field(&Registration { masks: vec!["attributes.color".to_owned()], ..good() }), "");
        assert_eq!(field(&Registration { deadline_ms: 3_001, ..good() }), "deadline_ms");
        for rate in [f64::NAN, f64::INFINITY, -1.0, 0.001, 1e9] {
            assert_eq!(
                field(&Registration { calls_per_second: rate, ..good() }),
                "calls_per_second",
                "{rate}"
            );
        }
        assert_eq!(field(&Registration { parallel: 10_001, ..good() }), "parallel");
        assert_eq!(field(&Registration { traverse_every_hours: 9_000, ..good() }), "traverse_every_hours");
    }

    #[test]
    fn tls_is_whole_or_not_there() {
        let tls = |tls: Tls| Registration {
            address: "https://plugin.local:7090".to_owned(),
            tls: Some(tls),
            ..Registration::default()
        };
        let pem = |word: &str| format!("-----BEGIN {word}-----\nAA==\n-----END {word}-----\n");
        let (certificate, key) = (pem("CERTIFICATE"), pem("PRIVATE KEY"));
        assert_eq!(field(&tls(Tls::default())), "");
        assert_eq!(field(&tls(Tls { ca: certificate.clone(), ..Tls::default() })), "");
        assert_eq!(field(&tls(Tls { certificate: certificate.clone(), ..Tls::default() })), "tls");
        assert_eq!(field(&tls(Tls { certificate, key, ..Tls::default() })), "");
        assert_eq!(field(&tls(Tls { ca: "/etc/ca.pem".to_owned(), ..Tls::default() })), "tls");
        assert_eq!(field(&tls(Tls { server_name: "a b".to_owned(), ..Tls::default() })), "tls");
        let plain = Registration { tls: Some(Tls::default()), ..good() };
        assert_eq!(field(&plain), "tls");
    }

    #[test]
    fn ids_are_plain() {
        for id in ["colors", "a", "price-2_x"] {
            check_id(id).unwrap();
        }
        for id in ["", "Colors", "a b", "a/b", "ц", "a.b", &"x".repeat(65)] {
            assert!(check_id(id).is_err(), "{id:?}");
        }
    }
}
