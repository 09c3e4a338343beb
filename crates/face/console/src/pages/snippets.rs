//! Snippets: the tree of the configuration with what is in force and where it comes from, a try of PUT and GET, and
//! what could not be stored.

use axum::Form;
use axum::extract::{Query, State};
use axum::response::Response;
use base64::Engine as _;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD};
use maud::{Markup, html};
use serde::Deserialize;
use snippets::config::Section;
use snippets::{Format, Letter, LetterId, Shown, Snippets};
use web::{Code, Problem};

use super::Answer;
use super::offer::document;
use crate::Console;
use crate::failures::{self, Failed, Verbs};
use crate::frame::{Heading, csrf, empty, page, see_other};
use crate::visit::{Refusal, Visit};
use crate::words::encoded;

const LETTERS: usize = 50;

/// What the page shows of a snippet.
#[derive(Default, Deserialize)]
pub(crate) struct Wanted {
    name: Option<String>,
    key: Option<String>,
    /// A put has just been done.
    stored: Option<String>,
}

fn snippets_of<'a>(console: &'a Console, visit: &Visit) -> Result<&'a Snippets, Refusal> {
    visit.require_service()?;
    console.snippets.as_ref().ok_or_else(|| {
        let detail =
            visit.say("this process has not the role snippets", "у этого процесса нет роли snippets");
        visit.refused(Problem::new(Code::Unavailable, detail))
    })
}

pub(crate) async fn show(
    State(console): State<Console>,
    visit: Visit,
    Query(wanted): Query<Wanted>,
) -> Answer {
    let snippets = snippets_of(&console, &visit)?;
    let found = match (&wanted.name, &wanted.key) {
        (Some(name), Some(key)) if !name.is_empty() && !key.is_empty() => {
            Some(snippets.documents(name, key).await.map_err(|error| visit.refused(error))?)
        }
        _ => None,
    };
    render(&visit, snippets, &wanted, &Attempt { found, ..Attempt::default() }).await
}

/// What a person has tried.
#[derive(Default)]
struct Attempt {
    found: Option<Vec<Shown>>,
    content: String,
    refused: Option<Problem>,
}

async fn render(visit: &Visit, snippets: &Snippets, wanted: &Wanted, attempt: &Attempt) -> Answer {
    let config = snippets.config();
    let sections = config.sections();
    let letters = snippets.letters(None, LETTERS).await.map_err(|error| visit.refused(error))?;
    let chosen = wanted.name.as_deref().and_then(|name| sections.iter().find(|section| section.name == name));
    let content = html! {
        div.columns.uneven {
            section aria-labelledby="tree" {
                h2 #tree { (visit.say("Configuration", "Конфигурация")) }
                (tree(visit, &sections, wanted.name.as_deref()))
            }
            section aria-labelledby="options" {
                h2 #options { (visit.say("Options in force", "Действующие параметры")) }
                @match chosen {
                    Some(section) => (options(visit, section)),
                    None => (empty(visit.say("Choose a section.", "Выберите раздел."))),
                }
            }
        }
        (trying(visit, &sections, wanted, attempt))
        section aria-labelledby="letters" {
            h2 #letters { (visit.say("What could not be stored", "Что не удалось сохранить")) }
            div #letter-list data-live { (letter_table(visit, &letters)) }
        }
    };
    let heading = Heading::new(visit.say("Snippets", "Сниппеты")).live(5_000);
    let mut response = page(visit, &heading, &content);
    if let Some(problem) = &attempt.refused {
        *response.status_mut() = problem.code.status();
    }
    Ok(response)
}

fn tree(visit: &Visit, sections: &[&std::sync::Arc<Section>], chosen: Option<&str>) -> Markup {
    html! {
        ul.tree {
            @for section in sections {
                @let depth = section.name.matches('/').count().min(6);
                li class=(format!("depth{depth}")) {
                    a href=(format!("/console/snippets?name={}", encoded(&section.name)))
                        aria-current=[(chosen == Some(section.name.as_str())).then_some("true")] {
                        (section.name.rsplit('/').next().unwrap_or_default())
                    }
                    " "
                    @if section.is_snippet { span.chip { (visit.say("snippet", "сниппет")) } " " span.faint { "kps " (section.number) } }
                    @if !section.recursive.is_empty() { " " span.chip { (visit.say("group", "группа")) } }
                }
            }
        }
    }
}

fn options(visit: &Visit, section: &Section) -> Markup {
    html! {
        p { code { (section.name) } }
        div.scroll tabindex="0" { table {
            thead { tr {
                th { (visit.say("Option", "Параметр")) }
                th { (visit.say("Value", "Значение")) }
                th { (visit.say("Set by (section:line)", "Задан в (раздел:строка)")) }
            } }
            tbody {
                @for (name, setting) in section.settings.iter() {
                    tr {
                        td { code { (name) } }
                        td { code { (setting.value) } }
                        td {
                            code {
                                @if setting.section.is_empty() { (visit.say("root", "корень")) } @else { (setting.section) }
                                ":" (setting.place.line)
                            }
                            @if setting.section != section.name { " " span.faint { (visit.say("inherited", "унаследован")) } }
                        }
                    }
                }
            }
        } }
    }
}

fn trying(
    visit: &Visit,
    sections: &[&std::sync::Arc<Section>],
    wanted: &Wanted,
    attempt: &Attempt,
) -> Markup {
    let names = || {
        html! {
            @for section in sections {
                option value=(section.name) selected[wanted.name.as_deref() == Some(section.name.as_str())] { (section.name) }
            }
        }
    };
    html! {
        section aria-labelledby="try" {
            h2 #try { (visit.say("Try it", "Попробовать")) }
            @if let Some(problem) = &attempt.refused {
                div.notice.bad role="alert" {
                    p { bdi { (problem.detail) } }
                    @for error in &problem.errors { p { code { (error.field) } " " bdi { (error.message) } } }
                }
            }
            @if let Some(stored) = &wanted.stored { div.notice.good role="status" {
                p { (visit.say("Stored: ", "Сохранено: ")) code { (stored) } } } }
            div.columns {
                form.card action="/console/snippets" {
                    h3 { "GET" }
                    label for="get-name" { (visit.say("Name", "Имя")) }
                    select #get-name name="name" { (names()) }
                    label for="get-key" { (visit.say("Key", "Ключ")) }
                    input #get-key name="key" required maxlength="1024" value=[wanted.key.as_deref()];
                    button.main { (visit.say("Read", "Прочитать")) }
                }
                (put_form(visit, &names(), wanted, attempt))
            }
            @if let Some(found) = &attempt.found {
                div #found {
                    @if found.is_empty() { (empty(visit.say("There is nothing under this key.", "Под этим ключом ничего нет."))) }
                    @for shown in found { (document(visit, shown)) }
                }
            }
        }
    }
}

fn put_form(visit: &Visit, names: &Markup, wanted: &Wanted, attempt: &Attempt) -> Markup {
    html! {
        form.card method="post" action="/console/snippets/put" {
            (csrf(visit))
            h3 { "PUT" }
            label for="put-name" { (visit.say("Name", "Имя")) }
            select #put-name name="name" { (names) }
            label for="put-key" { (visit.say("Key", "Ключ")) }
            input #put-key name="key" required maxlength="1024" value=[wanted.key.as_deref()];
            label for="format" { (visit.say("Format", "Формат")) }
            select #format name="format" {
                @for format in Format::ALL { option value=(format.name()) { (format.name())
                    @if matches!(format, Format::Pb | Format::Binary) { " (base64)" } } }
            }
            label for="language" { (visit.say("Language, if the snippet has none of its own",
                "Язык, если у сниппета нет своих")) }
            input #language name="language" maxlength="6" placeholder="ru";
            label for="content" { (visit.say("Content", "Содержимое")) }
            textarea #content name="content" rows="6" required spellcheck="false" { (attempt.content) }
            button.main { (visit.say("Store", "Сохранить")) }
        }
    }
}

#[derive(Deserialize)]
pub(crate) struct Put {
    name: String,
    key: String,
    format: Format,
    #[serde(default)]
    language: String,
    content: String,
}

pub(crate) async fn put(State(console): State<Console>, visit: Visit, Form(put): Form<Put>) -> Answer {
    let snippets = snippets_of(&console, &visit)?;
    let language = Some(put.language.trim()).filter(|language| !language.is_empty());
    let stored = match bytes(&put) {
        Ok(bytes) => {
            snippets.put(&put.name, &put.key, put.format, language, bytes.into()).await.map_err(Problem::from)
        }
        Err(problem) => Err(problem),
    };
    match stored {
        Ok(names) => {
            let to = format!(
                "/console/snippets?name={}&key={}&stored={}#try",
                encoded(&put.name),
                encoded(&put.key),
                encoded(&names.join(", "))
            );
            Ok(see_other(&to))
        }
        // What was written stays on the page, so that it can be mended.
        Err(problem) => {
            let wanted = Wanted { name: Some(put.name), key: Some(put.key), stored: None };
            let attempt = Attempt { content: put.content, refused: Some(problem), found: None };
            render(&visit, snippets, &wanted, &attempt).await
        }
    }
}

/// Bytes are written in base64, texts as they are.
fn bytes(put: &Put) -> Result<Vec<u8>, Problem> {
    match put.format {
        Format::Json | Format::Text => Ok(put.content.clone().into_bytes()),
        Format::Pb | Format::Binary => BASE64_STANDARD
            .decode(put.content.split_whitespace().collect::<String>())
            .map_err(|_| Problem::field("content", "bad_base64", "this is not base64")),
    }
}

fn letter_table(visit: &Visit, letters: &[Letter]) -> Markup {
    let failed: Vec<_> = letters.iter().map(shown).collect();
    let nothing = visit.say("Nothing: every message was stored.", "Ничего: все сообщения сохранены.");
    failures::table(visit, visit.say("Section and key", "Раздел и ключ"), nothing, &failed)
}

fn shown(letter: &Letter) -> Failed {
    let id = &letter.id;
    let text = serde_json::to_vec(id).map(|bytes| BASE64_URL_SAFE_NO_PAD.encode(bytes)).unwrap_or_default();
    Failed {
        what: html! {
            code { (id.section) } br; bdi { (id.key) } br;
            span.faint { (id.topic) " " (id.partition) "/" (id.offset) }
        },
        name: format!("{} {}", id.section, id.key),
        why: letter.reason.clone(),
        at: letter.failed_at,
        again_at: letter.not_before,
        tries: letter.attempts,
        verbs: Some(Verbs { address: "/console/snippets/letters".to_owned(), fields: vec![("id", text)] }),
    }
}

#[derive(Deserialize)]
pub(crate) struct Which {
    id: String,
}

impl Which {
    fn read(&self, visit: &Visit) -> Result<LetterId, Refusal> {
        let bytes = BASE64_URL_SAFE_NO_PAD.decode(&self.id).ok();
        let id = bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok());
        id.ok_or_else(|| visit.refused(Problem::not_found("there is no such letter")))
    }
}

pub(crate) async fn retry(
    State(console): State<Console>,
    visit: Visit,
    Form(which): Form<Which>,
) -> Result<Response, Refusal> {
    let snippets = snippets_of(&console, &visit)?;
    snippets.retry_letter(&which.read(&visit)?).await.map_err(|error| visit.refused(error))?;
    Ok(see_other("/console/snippets#letters"))
}

pub(crate) async fn discard(
    State(console): State<Console>,
    visit: Visit,
    Form(which): Form<Which>,
) -> Result<Response, Refusal> {
    let snippets = snippets_of(&console, &visit)?;
    // Twice is as good as once.
    snippets.drop_letter(&which.read(&visit)?).await.map_err(|error| visit.refused(error))?;
    Ok(see_other("/console/snippets#letters"))
}
