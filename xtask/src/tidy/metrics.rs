//! Every metric has the prefix `dvor_` and a description.

use super::{Problem, Source};

const DESCRIPTIONS: &str = "crates/server/src/metrics.rs";
const MACROS: [&str; 3] = ["counter!(", "gauge!(", "histogram!("];

pub(super) fn check(sources: &[Source]) -> Vec<Problem> {
    let described =
        sources.iter().find(|source| source.path == DESCRIPTIONS).map_or("", |source| &source.text);
    let is_production = |source: &&Source| source.path.starts_with("crates/") && source.is_rust();
    let others = sources.iter().filter(is_production).filter(|source| source.path != DESCRIPTIONS);
    others.flat_map(|source| in_source(source, described)).collect()
}

fn in_source(source: &Source, described: &str) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (line, name) in names(&source.text) {
        if !name.starts_with("dvor_") {
            problems.push(source.problem(line, format!("the metric {name} needs the prefix dvor_")));
        } else if !described.contains(&format!("\"{name}\"")) {
            problems
                .push(source.problem(line, format!("the metric {name} is not described in {DESCRIPTIONS}")));
        }
    }
    problems
}

/// The names of metrics with their lines.
fn names(text: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    for macro_name in MACROS {
        for (place, _) in text.match_indices(macro_name) {
            let rest = text[place + macro_name.len()..].trim_start();
            // `describe_counter!` and definitions name no metric here.
            let Some(name) = rest.strip_prefix('"').and_then(|rest| rest.split('"').next()) else { continue };
            found.push((text[..place].matches('\n').count() + 1, name));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::source;
    use super::*;

    #[test]
    fn a_metric_needs_its_prefix_and_its_description() {
        let described = source(DESCRIPTIONS, "(\"dvor_a_total\", Unit::Count, \"a\")");
        let used = "\ncounter!(\"dvor_a_total\");\ngauge!(\n  \"dvor_b\");\nhistogram!(\"c_seconds\");";
        let problems = check(&[described, source("crates/x/src/metrics.rs", used)]);
        let lines: Vec<_> = problems.iter().map(|problem| (problem.line, &*problem.message)).collect();
        assert_eq!(lines.len(), 2, "{lines:?}");
        assert!(lines[0].0 == 3 && lines[0].1.contains("dvor_b is not described"));
        assert!(lines[1].0 == 5 && lines[1].1.contains("c_seconds needs the prefix"));
    }
}
