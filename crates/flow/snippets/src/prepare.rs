//! From content to documents: format, validators, convertor, schema of the output. The same for HTTP and topics, and
//! done before any transaction begins.

use std::sync::Arc;

use crate::Format;
use crate::config::{Section, Target, Work};
use crate::content::Content;
use crate::convertors::Document;
use crate::error::{Error, Invalid, Refusal, Result};

/// What is to become of one document.
#[derive(Clone)]
pub(crate) struct Change {
    pub(crate) snippet: Arc<Section>,
    pub(crate) work: Arc<Work>,
    pub(crate) language: String,
    pub(crate) document: Document,
}

/// A document that a request or a message is about.
#[derive(Clone)]
pub(crate) struct DocumentRef {
    pub(crate) snippet: Arc<Section>,
    pub(crate) work: Arc<Work>,
    pub(crate) language: String,
}

impl Change {
    pub(crate) fn delete(DocumentRef { snippet, work, language }: DocumentRef) -> Self {
        Self { snippet, work, language, document: Document::Delete }
    }
}

/// Everything that the content means for the target, or the first refusal.
pub(crate) fn prepare(target: &Target, content: &Content, language: &str) -> Result<Vec<Change>> {
    let mut changes = Vec::new();
    for (snippet, work) in works(target)? {
        if !work.inputs.contains(&content.format) {
            let accepted: Vec<_> = work.inputs.iter().map(|format| format.name()).collect();
            return Err(Error::BadRequest(format!(
                "snippet {} takes {}, not {}",
                snippet.name,
                accepted.join(", "),
                content.format
            )));
        }
        let languages = languages(&work, language);
        let documents =
            make(&work, content, &languages).map_err(|refusal| Error::of(&snippet.name, refusal))?;
        changes.extend(languages.iter().zip(documents).map(|(language, document)| Change {
            snippet: snippet.clone(),
            work: work.clone(),
            language: (*language).to_owned(),
            document,
        }));
    }
    Ok(changes)
}

/// The snippets of a target with how they are made; a target without any is a mistake of the caller.
pub(crate) fn works(target: &Target) -> Result<Vec<(Arc<Section>, Arc<Work>)>> {
    if target.snippets.is_empty() {
        return Err(Error::BadRequest(format!(
            "{} is a group, and neither a snippet itself nor one that names sections in Recursive",
            target.section.name
        )));
    }
    Ok(target.snippets.iter().filter_map(|snippet| Some((snippet.clone(), snippet.work.clone()?))).collect())
}

/// Every document of the target in the snippet's own languages, else in this one.
pub(crate) fn documents(target: &Target, language: &str) -> Result<Vec<DocumentRef>> {
    let mut documents = Vec::new();
    for (snippet, work) in works(target)? {
        documents.extend(languages(&work, language).into_iter().map(|language| DocumentRef {
            snippet: snippet.clone(),
            work: work.clone(),
            language: language.to_owned(),
        }));
    }
    Ok(documents)
}

/// A snippet's own languages, else the request's.
pub(crate) fn languages<'w>(work: &'w Work, language: &'w str) -> Vec<&'w str> {
    if work.languages.is_empty() {
        vec![language]
    } else {
        work.languages.iter().map(String::as_str).collect()
    }
}

fn make(work: &Work, content: &Content, languages: &[&str]) -> Result<Vec<Document>, Refusal> {
    content.check()?;
    for validator in &work.validators {
        validator.validate(content)?;
    }
    let documents = work.convertor.convert(content, work.output, languages)?;
    if documents.len() != languages.len() {
        return Err(Invalid::new("the convertor did not give a document for each language").into());
    }
    for document in &documents {
        if let Document::Put(bytes) = document {
            check_output(work, content, bytes)?;
        }
    }
    Ok(documents)
}

fn check_output(work: &Work, content: &Content, bytes: &bytes::Bytes) -> Result<(), Refusal> {
    let unchanged = content.format == work.output && content.bytes == *bytes;
    if unchanged && work.output_schema.is_none() {
        return Ok(());
    }
    let output = Content::new(bytes.clone(), work.output);
    output.check()?;
    match &work.output_schema {
        Some(schema) if work.output == Format::Json => {
            schema.validate(&output).map_err(|refusal| if unchanged { refusal } else { of_output(refusal) })
        }
        _ => Ok(()),
    }
}

/// Where in its output a convertor went wrong is no place in what was sent.
fn of_output(refusal: Refusal) -> Refusal {
    match refusal {
        Refusal::Invalid(Invalid { pointer, message }) => {
            let place = if pointer.is_empty() { String::new() } else { format!(" at {pointer}") };
            Invalid::new(format!(
                "the output of the convertor{place} does not fit OutputJsonSchema: {message}"
            ))
            .into()
        }
        other @ Refusal::Unavailable(_) => other,
    }
}
