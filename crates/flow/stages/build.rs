//! Generates the gRPC services from `proto/`, without `protoc`; their messages are those of the crate `wire`.

use std::path::Path;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Asked when it runs: another check-out may have compiled it.
    let root = Path::new(&std::env::var("CARGO_MANIFEST_DIR")?).join("../../../proto");
    println!("cargo:rerun-if-changed={}", root.join("dvor/stages/v1/stage.proto").display());
    let descriptors = protox::compile([root.join("dvor/stages/v1/stage.proto")], [&root])?;
    tonic_prost_build::configure()
        .extern_path(".dvor.model.v1", "::wire::model::v1")
        .extern_path(".dvor.stages.v1", "::wire::stages::v1")
        .compile_fds(descriptors)?;
    Ok(())
}
