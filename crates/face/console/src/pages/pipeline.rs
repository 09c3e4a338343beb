//! The picture of the way of the data: systems as rooms, topics as arrows between them, with how fast they flow.

use std::collections::BTreeMap;

use maud::{Markup, html};

use crate::charts::sparkline;
use crate::rates::Rate;
use crate::visit::Visit;
use crate::words::{encoded, number, rate};

/// A topic as it is now.
pub(super) struct Stream {
    /// Kept.
    pub(super) records: i64,
    /// Ever written.
    pub(super) total: i64,
    pub(super) rate: Rate,
    /// Readers, and how far behind they are.
    pub(super) groups: Vec<(String, i64)>,
}

impl Stream {
    pub(super) fn lag(&self) -> i64 {
        self.groups.iter().map(|(_, lag)| lag).sum()
    }
}

/// A system: its place, its names.
struct Room {
    x: u32,
    y: u32,
    english: &'static str,
    russian: &'static str,
    address: &'static str,
}

const ROOMS: [Room; 9] = [
    Room { x: 20, y: 110, english: "Feeds", russian: "Фиды", address: "/console/sellers" },
    Room {
        x: 350, y: 110, english: "Offers", russian: "Предложения", address: "/console/sellers"
    },
    Room { x: 680, y: 110, english: "Snippets", russian: "Сниппеты", address: "/console/snippets" },
    Room {
        x: 350,
        y: 10,
        english: "Moderation",
        russian: "Модерация",
        address: "/console/topics/moderation.opinions",
    },
    Room {
        x: 350,
        y: 230,
        english: "Photos",
        russian: "Фотографии",
        address: "/console/topics/photos.requests",
    },
    Room { x: 680, y: 230, english: "United", russian: "Единые", address: "/console/businesses" },
    Room { x: 680, y: 340, english: "Silver", russian: "Серебро", address: "/console/silver" },
    Room { x: 350, y: 340, english: "Gold", russian: "Золото", address: "/console/silver/rules" },
    Room { x: 20, y: 340, english: "ERP", russian: "ERP", address: "/console/topics/erp.ssku" },
];

/// The room in which SSKUs fail.
const SILVER: &str = "/console/silver";

/// A topic as an arrow: its path, and where its words stand.
struct Arrow {
    topic: &'static str,
    path: &'static str,
    x: u32,
    y: u32,
    value_y: u32,
    anchor: &'static str,
}

const ARROWS: [Arrow; 9] = [
    Arrow {
        topic: model::topics::FEED_OFFERS,
        path: "M180 124 H342",
        x: 265,
        y: 112,
        value_y: 97,
        anchor: "middle",
    },
    Arrow {
        topic: model::topics::FEED_RESULTS,
        path: "M350 152 H188",
        x: 265,
        y: 168,
        value_y: 183,
        anchor: "middle",
    },
    Arrow {
        topic: model::topics::OFFERS_CHANGES,
        path: "M510 138 H672",
        x: 595,
        y: 126,
        value_y: 111,
        anchor: "middle",
    },
    Arrow {
        topic: model::topics::MODERATION_OPINIONS,
        path: "M430 66 V102",
        x: 440,
        y: 82,
        value_y: 97,
        anchor: "start",
    },
    Arrow {
        topic: model::topics::PHOTOS_REQUESTS,
        path: "M410 166 V222",
        x: 400,
        y: 198,
        value_y: 213,
        anchor: "end",
    },
    Arrow {
        topic: model::topics::PHOTOS_RESULTS,
        path: "M450 230 V174",
        x: 460,
        y: 198,
        value_y: 213,
        anchor: "start",
    },
    Arrow {
        topic: model::topics::UNITED_PARTS,
        path: "M510 154 H550 Q600 154 600 204 V228 Q600 258 630 258 H672",
        x: 610,
        y: 200,
        value_y: 215,
        anchor: "start",
    },
    Arrow {
        topic: model::topics::UNITED_OFFERS,
        path: "M760 286 V332",
        x: 750,
        y: 307,
        value_y: 322,
        anchor: "end",
    },
    Arrow {
        topic: model::topics::ERP_SSKU,
        path: "M350 368 H188",
        x: 265,
        y: 356,
        value_y: 341,
        anchor: "middle",
    },
];

/// `owed`: SSKUs that silver could not import. `more` are rooms that have a picture of their own.
pub(super) fn picture(
    visit: &Visit,
    streams: &BTreeMap<String, Stream>,
    owed: usize,
    more: &Markup,
) -> Markup {
    html! {
        svg.pipeline viewBox="0 0 860 410" role="group" aria-label=(visit.say("The way of the data", "Путь данных")) {
            defs {
                marker #tip viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" orient="auto" {
                    path d="M0 0 L10 5 L0 10 z" {}
                }
            }
            @for arrow in &ARROWS {
                @let stream = streams.get(arrow.topic);
                @let late = stream.is_some_and(|stream| stream.lag() > 0);
                @let moving = stream.is_some_and(|stream| stream.rate.per_second.is_some_and(|rate| rate > 0.0));
                a href=(format!("/console/topics/{}", encoded(arrow.topic))) {
                    path class=(format!("arrow{}{}", if moving { " moving" } else { "" }, if late { " late" } else { "" }))
                        d=(arrow.path) marker-end="url(#tip)" {}
                    text x=(arrow.x) y=(arrow.y) text-anchor=(arrow.anchor) { (arrow.topic) }
                    text.value x=(arrow.x) y=(arrow.value_y) text-anchor=(arrow.anchor) { (told(visit, stream)) }
                }
            }
            // Gold is made of a queue in the same shard: no topic.
            path.arrow d="M680 368 H518" marker-end="url(#tip)" {}
            @for one in &ROOMS {
                @let failed = if one.address == SILVER { owed } else { 0 };
                a href=(one.address) {
                    rect class=(if failed > 0 { "box failing" } else { "box" }) x=(one.x) y=(one.y) width="160" height="56" rx="6" {}
                    text.name x=(one.x + 80) y=(one.y + if failed > 0 { 26 } else { 33 }) text-anchor="middle" {
                        (visit.say(one.english, one.russian)) }
                    @if failed > 0 {
                        text.problem x=(one.x + 80) y=(one.y + 45) text-anchor="middle" {
                            (visit.say("failures: ", "ошибок: ")) (number(failed as i64)) }
                    }
                }
            }
            (more)
        }
    }
}

fn told(visit: &Visit, stream: Option<&Stream>) -> String {
    let Some(stream) = stream else { return "—".to_owned() };
    let speed = stream.rate.per_second.map_or_else(|| "…".to_owned(), rate);
    let lag = match stream.lag() {
        0 => String::new(),
        lag => format!(", {} {}", visit.say("behind", "отстаёт"), number(lag)),
    };
    format!("{speed}/{}{lag}", visit.say("s", "с"))
}

pub(super) fn table(visit: &Visit, streams: &BTreeMap<String, Stream>) -> Markup {
    html! {
        div.scroll tabindex="0" { table {
            thead { tr {
                th { (visit.say("Topic", "Топик")) }
                th.number { (visit.say("A second", "В секунду")) }
                th { span.hidden { (visit.say("Course", "Ход")) } }
                th.number { (visit.say("Kept", "Хранится")) }
                th.number { (visit.say("Ever", "Всего")) }
                th { (visit.say("Readers and their lag", "Читатели и отставание")) }
            } }
            tbody {
                @for (topic, stream) in streams {
                    tr {
                        td { a href=(format!("/console/topics/{}", encoded(topic))) { (topic) } }
                        td.number { (stream.rate.per_second.map_or_else(|| "…".to_owned(), rate)) }
                        td { (sparkline(&stream.rate.line)) }
                        td.number { (number(stream.records)) }
                        td.number { (number(stream.total)) }
                        td {
                            @for (group, lag) in &stream.groups {
                                span.group { (group) " " strong class=[(*lag > 0).then_some("bad")] { (number(*lag)) } } " "
                            }
                        }
                    }
                }
            }
        } }
    }
}
