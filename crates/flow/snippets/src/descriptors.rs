//! Descriptions of protobuf messages: a compiled set, or `.proto` files, which are compiled when they are read.

use std::sync::Arc;

use miette::Diagnostic as _;
use prost_reflect::{DescriptorPool, MessageDescriptor};
use protox::file::{ChainFileResolver, DescriptorSetFileResolver, File, FileResolver, GoogleFileResolver};

use crate::config::Assets;

/// The messages of a file that the configuration names.
pub(crate) fn load(assets: &Arc<Assets>, name: &str) -> Result<DescriptorPool, String> {
    if std::path::Path::new(name).extension().is_none_or(|kind| kind != "proto") {
        let bytes = assets.read(name)?;
        return DescriptorPool::decode(bytes.as_ref()).map_err(|error| format!("{name}: {error}"));
    }
    let mut resolver = ChainFileResolver::new();
    resolver.add(Named(assets.clone()));
    resolver.add(own_messages()?);
    resolver.add(GoogleFileResolver::new());
    let mut compiler = protox::Compiler::with_file_resolver(resolver);
    compiler.include_imports(true).open_file(name).map_err(|error| said(name, &error))?;
    Ok(compiler.descriptor_pool())
}

/// What is wrong, in which file (it may be one that is imported), and in which line where that is known.
fn said(name: &str, error: &protox::Error) -> String {
    let file = error.file().unwrap_or(name);
    let label = error.labels().and_then(|mut labels| labels.next());
    let read =
        label.zip(error.source_code()).and_then(|(at, source)| source.read_span(at.inner(), 0, 0).ok());
    match read {
        Some(place) => format!("{file}, line {}, column {}: {error}", place.line() + 1, place.column() + 1),
        None => format!("{file}: {error}"),
    }
}

/// Dvor's messages are known to everybody, under their names in `proto/`.
fn own_messages() -> Result<DescriptorSetFileResolver, String> {
    DescriptorSetFileResolver::decode(wire::DESCRIPTORS).map_err(|error| error.to_string())
}

/// The message of this name in a file that the configuration names.
pub(crate) fn message(assets: &Arc<Assets>, file: &str, name: &str) -> Result<MessageDescriptor, String> {
    load(assets, file)?.get_message_by_name(name).ok_or_else(|| format!("{file} describes no message {name}"))
}

/// Compiles one file that imports nothing.
pub(crate) fn compile_one(name: &str, source: &str) -> Result<DescriptorPool, protox::Error> {
    struct Only(String, String);
    impl FileResolver for Only {
        fn open_file(&self, name: &str) -> Result<File, protox::Error> {
            if name == self.0 {
                File::from_source(name, &self.1)
            } else {
                Err(protox::Error::file_not_found(name))
            }
        }
    }
    let mut compiler = protox::Compiler::with_file_resolver(Only(name.to_owned(), source.to_owned()));
    Ok(compiler.open_file(name)?.descriptor_pool())
}

/// Files beside the configuration.
struct Named(Arc<Assets>);

impl FileResolver for Named {
    fn resolve_path(&self, path: &std::path::Path) -> Option<String> {
        path.to_str().map(str::to_owned)
    }

    fn open_file(&self, name: &str) -> Result<File, protox::Error> {
        let source = self.0.read(name).map_err(|_| protox::Error::file_not_found(name))?;
        File::from_source(name, &String::from_utf8_lossy(&source))
    }
}
