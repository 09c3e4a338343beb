//! Kafka from its Maven artifacts: one KRaft node that is broker and controller.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use nix::sys::signal::Signal;

use super::launch::Launch;
use super::run_folder::RunFolder;
use super::{install, ready};
use crate::process;

/// Runs on Java 17 and later.
const VERSION: &str = "4.1.1";
const JAVA: u32 = 17;
const FORMAT_LIMIT: Duration = Duration::from_mins(2);

pub(super) fn prepare(run: &RunFolder) -> Result<Launch> {
    java()?;
    let jars = install::cached(&format!("kafka-{VERSION}"), download)?;
    let (folder, log) = run.server("kafka")?;
    let port = ready::free_port()?;
    let settings = folder.join("server.properties");
    std::fs::write(&settings, server_properties(port, controller_port(port)?, &folder.join("data")))?;

    let mut format = Command::new("java");
    format.args(java_arguments(&jars)).arg("kafka.tools.StorageTool");
    // Any 16 bytes in base64 name a cluster.
    format.args(["format", "--cluster-id", "ZHZvci10ZXN0LWthZmthIQ", "--config"]).arg(&settings);
    process::run_quietly(&mut format, &run.path.join("kafka-format.log"), FORMAT_LIMIT)?;

    let mut argv = vec!["java".to_owned()];
    argv.extend(java_arguments(&jars));
    argv.extend(["kafka.Kafka".to_owned(), settings.display().to_string()]);
    Ok(Launch {
        name: "kafka",
        variable: "DVOR_TEST_KAFKA",
        address: format!("127.0.0.1:{port}"),
        argv,
        env: BTreeMap::from([run.mark()]),
        user: None,
        folder,
        log,
        // The data goes anyway, so an orderly stop has nothing to save.
        stop_signal: Signal::SIGKILL,
        answers: Box::new(move || ready::kafka_answers(port)),
    })
}

fn controller_port(broker_port: u16) -> Result<u16> {
    // Both are free at the moment of asking, so the same one could be found twice.
    (0..100)
        .filter_map(|_| ready::free_port().ok())
        .find(|port| *port != broker_port)
        .context("no second free port")
}

fn java_arguments(jars: &Path) -> Vec<String> {
    vec![
        "-Xmx512m".into(),
        "-Djava.awt.headless=true".into(),
        // To stderr, which is the log file.
        "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn".into(),
        "-Dorg.slf4j.simpleLogger.showDateTime=true".into(),
        "-Dorg.slf4j.simpleLogger.dateTimeFormat=HH:mm:ss.SSS".into(),
        "-cp".into(),
        jars.join("jars/*").display().to_string(),
    ]
}

/// The broker's session is short because a killed broker may not come back before its old session has ended.
fn server_properties(port: u16, controller_port: u16, data: &Path) -> String {
    format!(
        "process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller_port}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller_port}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
controller.listener.names=CONTROLLER
log.dirs={}
auto.create.topics.enable=false
default.replication.factor=1
offsets.topic.replication.factor=1
offsets.topic.num.partitions=4
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=4
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
broker.session.timeout.ms=4000
broker.heartbeat.interval.ms=500
group.initial.rebalance.delay.ms=0
message.max.bytes=5242880
replica.fetch.max.bytes=5242880
log.cleaner.dedupe.buffer.size=16777216
",
        data.display()
    )
}

/// Maven resolves the dependencies of one generated project.
fn download(folder: &Path) -> Result<()> {
    if !process::on_path("mvn") {
        install::apt_install(&["maven"])?;
    }
    println!("[kafka] fetching Kafka {VERSION} with Maven");
    let pom = folder.join("pom.xml");
    std::fs::write(&pom, pom_xml())?;
    let mut maven = Command::new("mvn");
    maven.args(["-q", "-B", "-f"]).arg(&pom).arg("dependency:copy-dependencies");
    maven.arg(format!("-DoutputDirectory={}", folder.join("jars").display()));
    process::run_quietly(&mut maven, &folder.join("maven.log"), install::DOWNLOAD_LIMIT)
}

fn pom_xml() -> String {
    let dependency = |group: &str, artifact: &str, version: &str| {
        format!(
            "<dependency><groupId>{group}</groupId><artifactId>{artifact}</artifactId>\
             <version>{version}</version></dependency>"
        )
    };
    format!(
        "<project><modelVersion>4.0.0</modelVersion><groupId>dvor</groupId><artifactId>kafka</artifactId>\
         <version>1</version><dependencies>{}{}</dependencies></project>",
        dependency("org.apache.kafka", "kafka_2.13", VERSION),
        // Kafka speaks to slf4j and leaves the choice of a logger to the distribution.
        dependency("org.slf4j", "slf4j-simple", "1.7.36"),
    )
}

fn java() -> Result<()> {
    if !process::on_path("java") {
        // Debian has one or the other, by release.
        install::apt_install(&["openjdk-17-jre-headless"])
            .or_else(|_| install::apt_install(&["default-jre-headless"]))?;
    }
    let version = java_version()?;
    if version < JAVA {
        bail!("Kafka {VERSION} needs Java {JAVA} or later, `java` is {version}");
    }
    Ok(())
}

fn java_version() -> Result<u32> {
    let release = process::output_of(Command::new("java").arg("--version"))?;
    parse_java_version(&release).with_context(|| format!("cannot tell the version of java from: {release}"))
}

/// The first line is like `openjdk 17.0.15 2025-04-15`.
fn parse_java_version(release: &str) -> Option<u32> {
    let number = release.split_whitespace().nth(1)?;
    number.split(['.', '-', '+']).next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn java_says_its_version_in_several_ways() {
        assert_eq!(parse_java_version("openjdk 17.0.15 2025-04-15\nmore"), Some(17));
        assert_eq!(parse_java_version("openjdk 21-ea 2023-09-19"), Some(21));
        assert_eq!(parse_java_version("what"), None);
    }

    #[test]
    fn the_node_takes_messages_of_four_mebibytes() {
        let text = server_properties(1, 2, Path::new("data"));
        let limit = text.lines().find_map(|line| line.strip_prefix("message.max.bytes=")).unwrap();
        assert!(limit.parse::<u32>().unwrap() > 4 << 20);
    }
}
