//! Copies document files without some of their documents.

use std::path::Path;

use fpstore_base::watch::{Phase, Watch};
use fpstore_documents::{
    Decided, DocumentFiles, DocumentFormat, DocumentOptions, DocumentPlace, Error, RecordDecisions,
    RecordFate,
};

use super::documents::without_hook;
use crate::site::file;

const FORMATS: [DocumentFormat; 6] = [
    DocumentFormat::JsonLines,
    DocumentFormat::Lines,
    DocumentFormat::Csv,
    DocumentFormat::Tsv,
    DocumentFormat::Warc,
    DocumentFormat::Parquet,
];
/// Small limits, so that records of a few bytes are too long.
const LEN_MAX: [u64; 4] = [8, 40, 500, 1 << 20];

type Documents = Vec<(DocumentPlace, String)>;

/// The places and texts of the documents in a file; an error if the file cannot be copied, as with
/// UTF-16.
fn read(path: &Path, options: &DocumentOptions) -> Result<Documents, Error> {
    let mut documents = Documents::new();
    let files = DocumentFiles::find(&[path.into()], options)?;
    files.get(0, options).unwrap().check_copy(options, false)?;
    files.read_texts(options, None, |place, _, text| {
        documents.push((place, text.to_string()));
        Ok::<_, Error>(())
    })?;
    Ok(documents)
}

/// Copies a file that contains `documents`, without the documents that `is_kept` rejects.
fn copy_of(
    path: &Path,
    options: &DocumentOptions,
    documents: &Documents,
    is_kept: impl Fn(usize) -> bool,
) -> Result<Vec<u8>, Error> {
    let files = DocumentFiles::find(&[path.into()], options)?;
    let file = files.get(0, options).unwrap();
    let mut decisions = documents.iter().enumerate().map(|(at, (place, _))| {
        let fate = if is_kept(at) { RecordFate::Keep } else { RecordFate::Drop };
        Ok(Decided { record: place.record(), digest: place.digest, fate })
    });
    let fates = (&mut decisions as &mut RecordDecisions<'_>, &RecordFate::Keep);
    let (watch, mut out) = (Watch::new(None, Phase::Copy, None), Vec::new());
    file.copy_records(options, &[], &watch, &mut out, fates)?;
    Ok(out)
}

/// Copies a file: the first three bytes of the input select the format, the options and the dropped
/// documents. The other documents must be kept in order and be readable; if none is dropped, copies
/// of plain files must be identical.
pub fn copy(bytes: &[u8]) {
    let Some((&[format, options, seed], bytes)) = bytes.split_first_chunk() else { return };
    without_hook(|| check(bytes, FORMATS[format as usize % FORMATS.len()], options, seed));
}

fn check(bytes: &[u8], format: DocumentFormat, options: u8, seed: u8) {
    let (skip_bad, len_max) = (options & 1 > 0, LEN_MAX[options as usize / 2 % LEN_MAX.len()]);
    let is_lines = matches!(format, DocumentFormat::JsonLines | DocumentFormat::Lines);
    let options = DocumentOptions::default().format(format).skip_bad(skip_bad).threads(1);
    let options = options.max_document(len_max).line_ids(true).text_field("text");
    let path = file("original", bytes);
    let Ok(documents) = read(&path, &options) else { return };
    let is_kept = |at: usize| (at as u64 + 1).wrapping_mul(2 * u64::from(seed) + 1) >> 2 & 1 > 0;
    let copied = match copy_of(&path, &options, &documents, is_kept) {
        Ok(copied) => copied,
        // A copy reads more than the documents: other columns may be damaged, and a record may
        // exceed the length limit.
        Err(_) if matches!(format, DocumentFormat::Parquet | DocumentFormat::Warc) => return,
        Err(error) => panic!("read, and not copied: {error:?}"),
    };
    let kept = || documents.iter().enumerate().filter(|(at, _)| is_kept(*at)).map(|(_, it)| &it.1);
    let again = match read(&file("copy", &copied), &options) {
        // A text is rejected for NUL bytes if they are many compared with its other bytes, so
        // dropping documents may make the rest unreadable.
        Err(error) if error.to_string().contains("byte 0 is not") => return,
        again => again.expect("what is kept is read again"),
    };
    assert!(again.iter().map(|(_, text)| text).eq(kept()));
    let is_compressed =
        [&b"\x1f\x8b"[..], b"\x28\xb5\x2f\xfd"].iter().any(|it| bytes.starts_with(it));
    if !is_compressed && !matches!(format, DocumentFormat::Parquet | DocumentFormat::Warc) {
        assert_eq!(copy_of(&path, &options, &documents, |_| true).unwrap(), bytes);
    }
    if is_lines && !is_compressed {
        // A simple independent parser, in which a line ends at each LF.
        let dropped = |number| {
            let of = documents.iter().position(|(place, _)| place.record() == number);
            of.is_some_and(|at| !is_kept(at))
        };
        let mark = if bytes.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
        let lines = (1..).zip(bytes[mark..].split_inclusive(|&byte| byte == b'\n'));
        let rest = lines.filter(|(number, _)| !dropped(*number)).flat_map(|(_, line)| line);
        assert!(bytes[..mark].iter().chain(rest).eq(&copied));
    }
}
