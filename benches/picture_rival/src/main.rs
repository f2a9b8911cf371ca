//! Prints the hash and name of each picture in a folder. The hash has 8 by 8 bits; its other
//! settings are the defaults of czkawka: `Gradient` of `image_hasher`, with the Lanczos filter.

use std::error::Error;

use image_hasher::{FilterType, HashAlg, HasherConfig};

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args().nth(1).ok_or("usage: picture-rival FOLDER")?;
    let hasher = HasherConfig::new()
        .hash_size(8, 8)
        .hash_alg(HashAlg::Gradient)
        .resize_filter(FilterType::Lanczos3)
        .to_hasher();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let hash = hasher.hash_image(&image::open(&path)?);
        let hex: String = hash.as_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
        println!("{hex}\t{}", path.file_name().unwrap_or_default().to_string_lossy());
    }
    Ok(())
}
