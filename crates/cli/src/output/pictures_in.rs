//! Whether a folder holds pictures, by the names of its files.

use std::path::{Path, PathBuf};

/// Entries of a folder, and of those in it, that are looked at.
const ENTRIES_MAX: usize = 1000;

/// How names of pictures end, those that are not read among them.
const ENDS: [&str; 12] =
    ["avif", "bmp", "gif", "heic", "heif", "jpeg", "jpg", "jxl", "png", "tif", "tiff", "webp"];

/// Whether a name is that of a picture.
pub(crate) fn is_picture(path: &Path) -> bool {
    let end = path.extension().map(|end| end.to_string_lossy().to_ascii_lowercase());
    end.is_some_and(|end| ENDS.contains(&end.as_str()))
}

/// Whether most of the first files in a folder are pictures.
pub(crate) fn holds_pictures(folder: &Path) -> bool {
    let mut folders = vec![folder.to_path_buf()];
    let (mut seen, mut pictures, mut others) = (0, 0, 0);
    while let Some(folder) = folders.pop() {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        for entry in entries {
            seen += 1;
            if seen > ENTRIES_MAX {
                return pictures > others;
            }
            let path: PathBuf = entry.path();
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => folders.push(path),
                Ok(_) if is_picture(&path) => pictures += 1,
                _ => others += 1,
            }
        }
    }
    pictures > others
}
