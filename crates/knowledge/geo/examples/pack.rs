//! Packs the places anew: `cargo run -p dvor-geo --example pack -- FOLDER crates/knowledge/geo/data/places.bin`, where
//! FOLDER holds places.tsv, regions.tsv and countries.tsv.

use std::path::Path;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [folder, target] = &arguments[..] else {
        return Err("say the folder of the tables and the file to write".into());
    };
    let read = |name: &str| std::fs::read_to_string(Path::new(folder).join(name));
    let packed = geo::pack(&read("places.tsv")?, &read("regions.tsv")?, &read("countries.tsv")?)?;
    std::fs::write(target, &packed)?;
    println!("{target}: {} bytes", packed.len());
    Ok(())
}
