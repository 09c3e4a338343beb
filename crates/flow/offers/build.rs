//! Generates the gRPC service from `proto/`, without `protoc`; its messages are those of the crate `wire`.

use std::path::Path;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Asked when it runs: another check-out may have compiled it.
    let root = Path::new(&std::env::var("CARGO_MANIFEST_DIR")?).join("../../../proto");
    println!("cargo:rerun-if-changed={}", root.join("dvor/offers/v1/offers.proto").display());
    let descriptors = protox::compile([root.join("dvor/offers/v1/offers.proto")], [&root])?;
    tonic_prost_build::configure()
        .extern_path(".dvor.model.v1", "::wire::model::v1")
        .extern_path(".dvor.feeds.v1", "::wire::feeds::v1")
        .extern_path(".dvor.offers.v1", "::wire::offers::v1")
        .compile_fds(descriptors)?;
    Ok(())
}
