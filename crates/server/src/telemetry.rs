//! Logs, traces and metrics of the process.

use std::io::IsTerminal as _;

use anyhow::{Context as _, Result};
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};
use opentelemetry::trace::TracerProvider as _;
use opentelemetry_otlp::WithExportConfig as _;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::SdkTracerProvider;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, Layer as _};

use crate::config::{Log, LogFormat, Otel};

/// Libraries that talk to themselves; the configured level can name them again.
const QUIET: &str = "fjall=warn,lsm_tree=warn,h2=warn,hyper=warn,rdkafka=warn,tokio_postgres=warn";

/// Ends with the process: what was not exported yet goes out then.
pub struct Telemetry {
    tracer: Option<SdkTracerProvider>,
}

impl Telemetry {
    /// Begins to log to standard error, and to export traces if a collector is configured. Needs a runtime.
    pub fn begin(log: &Log, otel: &Otel) -> Result<Self> {
        let json = match log.format {
            LogFormat::Auto => !std::io::stderr().is_terminal(),
            LogFormat::Human => false,
            LogFormat::Json => true,
        };
        let filter = || EnvFilter::new(format!("{QUIET},{}", log.level));
        let lines = tracing_subscriber::fmt::layer().with_writer(std::io::stderr);
        let lines = if json {
            lines.json().flatten_event(true).with_current_span(true).with_span_list(false).boxed()
        } else {
            lines.with_ansi(std::io::stderr().is_terminal()).boxed()
        };
        let tracer =
            otel.endpoint.as_deref().map(|endpoint| tracer(endpoint, &otel.service_name)).transpose()?;
        let traces = tracer.as_ref().map(|provider| {
            tracing_opentelemetry::layer().with_tracer(provider.tracer("dvor")).with_filter(filter())
        });
        tracing_subscriber::registry().with(lines.with_filter(filter())).with(traces).try_init()?;
        Ok(Self { tracer })
    }

    /// Sends what is left.
    pub async fn end(self) {
        let Some(tracer) = self.tracer else { return };
        let ended = tokio::task::spawn_blocking(move || tracer.shutdown()).await;
        if let Ok(Err(error)) = ended {
            tracing::warn!("the last traces could not be exported: {error}");
        }
    }
}

fn tracer(endpoint: &str, service_name: &str) -> Result<SdkTracerProvider> {
    let exporter = opentelemetry_otlp::SpanExporter::builder().with_tonic().with_endpoint(endpoint).build();
    let exporter = exporter.with_context(|| format!("otel.endpoint: {endpoint:?}"))?;
    let resource = Resource::builder().with_service_name(service_name.to_owned()).build();
    Ok(SdkTracerProvider::builder().with_batch_exporter(exporter).with_resource(resource).build())
}

/// Begins to collect metrics; the handle renders them for `/metrics`.
pub fn metrics() -> Result<PrometheusHandle> {
    let seconds =
        [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0];
    let builder =
        PrometheusBuilder::new().set_buckets_for_metric(Matcher::Suffix("_seconds".to_owned()), &seconds)?;
    let recorder = builder.install_recorder()?;
    crate::metrics::describe();
    Ok(recorder)
}
