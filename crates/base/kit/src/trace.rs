//! Traces that go on in another process: the current span as W3C `traceparent`, and spans that go on from one.

use opentelemetry::Context;
use opentelemetry::trace::{SpanContext, SpanId, TraceContextExt as _, TraceFlags, TraceId, TraceState};
use tracing::Span;
use tracing_opentelemetry::OpenTelemetrySpanExt as _;

/// The header of a call or message that carries a trace.
pub const HEADER: &str = "traceparent";
/// Links of one span.
const MAX_LINKS: usize = 32;

/// The current span, for whoever goes on with its work; `None`: nobody traces it.
pub fn current() -> Option<String> {
    let context = Span::current().context();
    let span = context.span().span_context().clone();
    let flags = span.trace_flags().to_u8();
    span.is_valid().then(|| format!("00-{}-{}-{flags:02x}", span.trace_id(), span.span_id()))
}

/// Lets a span that has not begun yet go on from these. Of one trace it becomes a part; where several meet, in a batch, it
/// begins its own, with a link to each.
pub fn follow<'a>(span: &Span, parents: impl IntoIterator<Item = &'a str>) {
    let mut known: Vec<SpanContext> = Vec::new();
    for parent in parents.into_iter().filter_map(parse) {
        if known.len() < MAX_LINKS && !known.iter().any(|known| known.span_id() == parent.span_id()) {
            known.push(parent);
        }
    }
    let Some(first) = known.first() else { return };
    if known.iter().all(|parent| parent.trace_id() == first.trace_id()) {
        // Without a collector there is no trace to go on with.
        drop(span.set_parent(Context::new().with_remote_span_context(first.clone())));
        known.remove(0);
    }
    for parent in known {
        span.add_link(parent);
    }
}

/// Version 00, as <https://www.w3.org/TR/trace-context/> has it.
fn parse(text: &str) -> Option<SpanContext> {
    let mut parts = text.split('-');
    let (version, trace, span, flags) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
    if version != "00" || parts.next().is_some() || (trace.len(), span.len(), flags.len()) != (32, 16, 2) {
        return None;
    }
    let (trace, span) = (TraceId::from_hex(trace).ok()?, SpanId::from_hex(span).ok()?);
    let flags = TraceFlags::new(u8::from_str_radix(flags, 16).ok()?);
    let context = SpanContext::new(trace, span, flags, true, TraceState::default());
    context.is_valid().then_some(context)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_traceparent_is_read_or_left_alone() {
        let context = parse("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01").unwrap();
        assert_eq!(context.trace_id().to_string(), "0af7651916cd43dd8448eb211c80319c");
        assert!(context.is_sampled() && context.is_remote());
        for bad in [
            "",
            "00",
            "01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-x",
            "00-00000000000000000000000000000000-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319-b7ad6b7169203331-01",
            "00-zaf7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        ] {
            assert!(parse(bad).is_none(), "{bad}");
        }
    }

    #[test]
    fn without_a_collector_nothing_is_carried() {
        let span = tracing::info_span!("alone");
        follow(&span, ["00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"]);
        assert_eq!(span.in_scope(current), None);
    }
}
