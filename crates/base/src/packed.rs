//! Recognises packed files and archives that cannot be read, and names the commands that unpack
//! them.

use std::path::{Path, PathBuf};

/// A byte in magic bytes that stands for any byte.
pub(crate) const ANY: u8 = b'?';
/// The magic bytes of a tar archive, and their offset in the file.
pub(crate) const TAR_MAGIC: &[u8] = b"ustar";
pub(crate) const TAR_MAGIC_AT: usize = 257;
/// The first bytes of an ARC file, the older format of web archives, before WARC.
const ARC_MAGIC: &[u8] = b"filedesc://";

/// The first bytes of a Parquet file: its magic bytes, and the first byte of its first page.
const PARQUET_MAGIC: &[u8] = b"PAR1\x15";
/// The reason why a Parquet file cannot be read as lines.
pub const IS_PARQUET: &str = "it is a Parquet file, expected lines of text";

/// A kind of packed file, recognised by its first bytes.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Packer {
    pub(crate) magic: &'static [u8],
    name: &'static str,
    /// The command that unpacks a file; the name of the file is appended.
    unpack: &'static str,
    /// The command that unpacks from standard input to standard output, if there is one.
    filter: Option<&'static str>,
    /// The file extensions that `unpack` accepts; any extension if empty.
    ends: &'static [&'static str],
}

const fn packer(
    magic: &'static [u8],
    name: &'static str,
    unpack: &'static str,
    filter: &'static str,
    ends: &'static [&'static str],
) -> Packer {
    let filter = if filter.is_empty() { None } else { Some(filter) };
    Packer { magic, name, unpack, filter, ends }
}

pub(crate) const PACKERS: &[Packer] = &[
    packer(b"\xfd7zXZ\0", "an xz file", "xz -dk", "xz -dc", &["xz", "txz"]),
    packer(b"BZh?1AY&SY", "a bzip2 file", "bzip2 -dk", "bzip2 -dc", &[]),
    packer(b"BZh?\x17rE8P\x90", "a bzip2 file", "bzip2 -dk", "bzip2 -dc", &[]),
    packer(b"\x04\x22\x4d\x18", "an LZ4 file", "lz4 -dk", "lz4 -dc", &["lz4"]),
    packer(b"\x02\x21\x4c\x18", "an LZ4 file", "lz4 -dk", "lz4 -dc", &["lz4"]),
    packer(b"LZIP\x01", "an lzip file", "lzip -dk", "lzip -dc", &[]),
    packer(b"\x1f\x9d", "a file of compress", "uncompress -k", "uncompress -c", &["Z"]),
    packer(b"]\0\0", "an LZMA file", "xz -dk", "xz -dc", &["lzma", "tlz"]),
    packer(b"PK\x03\x04", "a zip file", "unzip", "funzip", &[]),
    packer(b"PK\x05\x06", "a zip file", "unzip", "", &[]),
    packer(b"7z\xbc\xaf\x27\x1c", "a 7z file", "7z x", "", &[]),
    packer(b"Rar!\x1a\x07", "a RAR file", "unrar x", "", &[]),
];

impl Packer {
    /// The reason why a packed file cannot be read, and the remedy.
    pub(crate) fn refusal(&self, path: &Path) -> String {
        let Packer { name, unpack, filter, ends, .. } = self;
        if path == Path::new("-") {
            return match filter {
                Some(filter) => format!("it is {name}; unpack it: {filter} | fpstore ..."),
                None => format!("it is {name}; unpack it to a file first"),
            };
        }
        let end = path.extension().unwrap_or_default();
        if let Some(filter) = filter
            && !ends.is_empty()
            && !ends.iter().any(|known| end == *known)
        {
            let new = quoted(&with_new(path));
            return format!("it is {name}; unpack it: {filter} < {} > {new}", quoted(path));
        }
        let is_wacz = end.eq_ignore_ascii_case("wacz");
        let name = if is_wacz { "a WACZ file, a zip of web archives" } else { name };
        format!("it is {name}; unpack it: {unpack} {}", quoted(path))
    }
}

/// If a file that starts with `head` is an archive: the reason why it cannot be read.
pub(crate) fn archive_of(head: &[u8], path: &Path) -> Option<String> {
    let is_stdin = path == Path::new("-");
    if head.starts_with(PARQUET_MAGIC) {
        return Some(IS_PARQUET.into());
    }
    if head.starts_with(ARC_MAGIC) && is_stdin {
        return Some(
            "it is an ARC file, the format before WARC; convert it to a file of WARC first: \
                     warcio recompress"
                .into(),
        );
    }
    if head.starts_with(ARC_MAGIC) {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let stem = name.trim_end_matches(".gz").trim_end_matches(".arc");
        return Some(format!(
            "it is an ARC file, the format before WARC; convert it: warcio recompress {} {}",
            quoted(path),
            quoted(&path.with_file_name(format!("{stem}.warc.gz")))
        ));
    }
    let is_tar = head.get(TAR_MAGIC_AT..).is_some_and(|rest| rest.starts_with(TAR_MAGIC));
    is_tar.then(|| match is_stdin {
        true => "it is a tar archive; unpack it: tar -xOf - | fpstore ...".into(),
        false => format!("it is a tar archive; unpack it: tar -xf {}", quoted(path)),
    })
}

/// A path for a converted file, next to the file at `path`: `a.new.csv` for `a.csv`.
pub fn with_new(path: &Path) -> PathBuf {
    let end = path.extension().map(|end| format!(".{}", end.to_string_lossy()));
    path.with_extension(format!("new{}", end.unwrap_or_default()))
}

/// A path, quoted for a shell.
pub fn quoted(path: &Path) -> String {
    let text = path.to_string_lossy();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+=:,@%".contains(c);
    match !text.is_empty() && text.chars().all(is_plain) {
        true => text.into(),
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}
