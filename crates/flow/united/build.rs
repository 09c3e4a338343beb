//! Generates the gRPC service from `proto/`, without `protoc`; its messages are those of the crate `wire`.

use std::path::Path;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Asked when it runs: another check-out may have compiled it.
    let root = Path::new(&std::env::var("CARGO_MANIFEST_DIR")?).join("../../../proto");
    println!("cargo:rerun-if-changed={}", root.join("dvor/united/v1").display());
    let descriptors = protox::compile([root.join("dvor/united/v1/united.proto")], [&root])?;
    tonic_prost_build::configure()
        .extern_path(".dvor.united.v1", "::wire::united::v1")
        .compile_fds(descriptors)?;
    Ok(())
}
