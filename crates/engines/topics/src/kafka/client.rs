use std::sync::Arc;
use std::time::Duration;

use rdkafka::admin::AdminClient;
use rdkafka::client::ClientContext;
use rdkafka::config::{ClientConfig, RDKafkaLogLevel};
use rdkafka::consumer::{BaseConsumer, ConsumerContext};
use rdkafka::error::KafkaError;

use super::error::error;
use crate::{Error, Kind, Result};

/// How long one question to the broker may take.
pub(super) const CALL_LIMIT: Duration = Duration::from_secs(10);

/// What all parts of the backend need to talk to the broker.
#[derive(Clone)]
pub(super) struct Client {
    config: Arc<ClientConfig>,
    admin: Arc<AdminClient<Log>>,
}

impl Client {
    pub(super) fn new(brokers: &str) -> Result<Self> {
        let mut config = ClientConfig::new();
        config
            .set("bootstrap.servers", brokers)
            .set("client.id", "dvor")
            // A broker that comes back should be noticed soon.
            .set("reconnect.backoff.ms", "50")
            .set("reconnect.backoff.max.ms", "1000")
            .set("allow.auto.create.topics", "false")
            .set_log_level(RDKafkaLogLevel::Warning);
        let admin = config.create_with_context(Log).map_err(|cause| error("no client of Kafka", cause))?;
        Ok(Self { config: Arc::new(config), admin: Arc::new(admin) })
    }

    pub(super) fn config(&self) -> &ClientConfig {
        &self.config
    }

    pub(super) fn admin(&self) -> &AdminClient<Log> {
        &self.admin
    }

    /// A consumer that knows the group but has not joined it.
    pub(super) fn idle_consumer(&self, group: &str) -> Result<BaseConsumer<Log>> {
        let mut config = self.config().clone();
        config.set("group.id", group).set("enable.auto.commit", "false");
        config.create_with_context(Log).map_err(|cause| error("no consumer of Kafka", cause))
    }
}

/// Longest wait for a blocking call, which may ask the broker several times.
const BLOCKING_LIMIT: Duration = Duration::from_secs(30);

/// Runs a blocking call of librdkafka. One that takes too long is left to itself.
pub(super) async fn blocking<T: Send + 'static>(
    call: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    match tokio::time::timeout(BLOCKING_LIMIT, tokio::task::spawn_blocking(call)).await {
        Ok(Ok(answer)) => answer,
        Err(_) => Err(Error::new(Kind::Unknown, "Kafka does not answer")),
        Ok(Err(cause)) => Err(Error::with_source(Kind::Unknown, "a call to Kafka was given up", cause)),
    }
}

/// What librdkafka has to say goes to our log.
pub(super) struct Log;

impl ClientContext for Log {
    fn log(&self, level: RDKafkaLogLevel, facility: &str, message: &str) {
        log(level, facility, message);
    }

    fn error(&self, error: KafkaError, reason: &str) {
        tracing::warn!(%error, reason, "Kafka");
    }
}

impl ConsumerContext for Log {}

pub(super) fn log(level: RDKafkaLogLevel, facility: &str, message: &str) {
    match level {
        RDKafkaLogLevel::Emerg | RDKafkaLogLevel::Alert | RDKafkaLogLevel::Critical => {
            tracing::error!(facility, "Kafka: {message}");
        }
        // A lost connection is an "error" to librdkafka, which reconnects by itself.
        RDKafkaLogLevel::Error | RDKafkaLogLevel::Warning => tracing::warn!(facility, "Kafka: {message}"),
        _ => tracing::debug!(facility, "Kafka: {message}"),
    }
}
