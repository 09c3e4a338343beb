//! Kafka Streams: a job in Java that keeps the newest part per key of the shipments in a topic.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, ensure};
use serde::Deserialize;

const VERSION: &str = "4.1.1";
const SOURCE: &str = include_str!("NewestParts.java");

/// What Kafka Streams promises of a record's effect.
#[derive(Clone, Copy, Debug)]
pub enum Guarantee {
    /// Its default.
    AtLeastOnce,
    ExactlyOnce,
}

#[derive(Deserialize)]
struct Said {
    seconds: f64,
    parts: u64,
}

/// Seconds from the first message to the commit behind the last one. The job must have seen every part.
pub fn seconds(
    brokers: &str,
    topic: &str,
    guarantee: Guarantee,
    messages: u64,
    parts: u64,
) -> anyhow::Result<f64> {
    let folder = super::installed(&format!("kafka-streams-{VERSION}"), install)?;
    let source = folder.join("NewestParts.java");
    std::fs::write(&source, SOURCE)?;
    let state = tempfile::tempdir()?;
    let guarantee = match guarantee {
        Guarantee::AtLeastOnce => "at_least_once",
        Guarantee::ExactlyOnce => "exactly_once_v2",
    };
    let output = Command::new("java")
        .args(["-Xmx1g", "-Dorg.slf4j.simpleLogger.defaultLogLevel=error", "-cp"])
        .arg(folder.join("jars/*"))
        .arg(source)
        .args([brokers, topic, guarantee])
        .arg(state.path())
        .arg(messages.to_string())
        .stderr(Stdio::inherit())
        .output()
        .context("java")?;
    ensure!(output.status.success(), "the job of Kafka Streams failed");
    let said: Said = serde_json::from_slice(&output.stdout).context("what the job said")?;
    ensure!(said.parts >= parts, "the job saw {} of {parts} parts", said.parts);
    Ok(said.seconds)
}

/// Maven resolves the dependencies of one generated project.
fn install(folder: &Path) -> anyhow::Result<()> {
    let dependency = |group: &str, artifact: &str, version: &str| {
        format!(
            "<dependency><groupId>{group}</groupId><artifactId>{artifact}</artifactId>\
             <version>{version}</version></dependency>"
        )
    };
    let pom = folder.join("pom.xml");
    let dependencies = [
        dependency("org.apache.kafka", "kafka-streams", VERSION),
        dependency("com.google.protobuf", "protobuf-java", "4.33.1"),
        dependency("org.slf4j", "slf4j-simple", "1.7.36"),
    ];
    std::fs::write(
        &pom,
        format!(
            "<project><modelVersion>4.0.0</modelVersion><groupId>dvor</groupId><artifactId>peer</artifactId>\
             <version>1</version><dependencies>{}</dependencies></project>",
            dependencies.concat()
        ),
    )?;
    let status = Command::new("mvn")
        .args(["-q", "-B", "-f"])
        .arg(&pom)
        .arg("dependency:copy-dependencies")
        .arg(format!("-DoutputDirectory={}", folder.join("jars").display()))
        .status()
        .context("mvn")?;
    ensure!(status.success(), "Maven cannot fetch Kafka Streams");
    Ok(())
}
