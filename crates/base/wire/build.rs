//! Generates the messages from `proto/`, without `protoc`.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Asked when it runs: another check-out may have compiled it.
    let root = Path::new(&env::var("CARGO_MANIFEST_DIR")?).join("../../../proto");
    println!("cargo:rerun-if-changed={}", root.display());
    let mut files = Vec::new();
    collect(&root, &mut files)?;
    files.sort();
    for file in &files {
        println!("cargo:rerun-if-changed={}", file.display());
    }
    let mut compiler = protox::Compiler::new([&root])?;
    compiler.include_imports(true).open_files(&files)?;
    let out = PathBuf::from(env::var("OUT_DIR")?);
    // As the compiler writes it: the generated types of descriptors drop options of our own.
    fs::write(out.join("descriptors.bin"), compiler.encode_file_descriptor_set())?;
    prost_build::Config::new()
        // The library's own `Any` cannot be written as JSON.
        .compile_well_known_types()
        .extern_path(".google.protobuf.Any", "crate::Any")
        .message_attribute(".", "#[derive(serde::Serialize, serde::Deserialize)] #[serde(default)]")
        .enum_attribute(
            ".",
            "#[derive(serde::Serialize, serde::Deserialize)] #[serde(rename_all = \"snake_case\")]",
        )
        // In the order of their keys, so that equal messages are equal bytes.
        .btree_map([".dvor.united", ".dvor.silver"])
        .compile_fds(compiler.file_descriptor_set())?;
    Ok(())
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "proto") {
            files.push(path);
        }
    }
    Ok(())
}
