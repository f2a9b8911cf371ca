//! The manifest of a cleaning: its inputs, outputs, settings and criterion.

use fpstore_base::IoError;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde::Serialize;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::account::Account;
use super::copied::on_threads;
use super::error::{Error, Result};
use super::loss::LossOf;
use super::overview::Overview;
use fpstore_base::watch::Watch;
use fpstore_disk as disk;

/// Bytes of a file that are read at a time.
const READ_LEN: usize = 1 << 20;

/// A file of the manifest, as it was when the manifest was made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct ManifestFile {
    /// The path, as given by the user or found in a folder.
    pub(super) path: String,
    /// The length of the file.
    pub(super) bytes: u64,
    /// The SHA-256 of the file, in hexadecimal digits.
    pub(super) sha256: String,
}

/// The inputs, outputs, settings and results of a cleaning; see
/// [`Cleaned::manifest`](super::Cleaned::manifest). [`Manifest::to_json`] converts it to JSON. Each
/// listed file can be checked with `sha256sum`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Manifest {
    /// The version of fpstore.
    pub(super) fpstore: &'static str,
    /// The recipe of the fingerprints.
    pub(super) recipe: String,
    /// The criterion for near-duplicates, in words.
    pub(super) judgement: String,
    /// All settings that affect the result, under the names of the program's options.
    pub(super) settings: Value,
    /// The numbers of kept, removed and skipped documents, and the number removed for each reason.
    pub(super) counts: Value,
    /// The numbers of documents and removed documents of each file and each source.
    pub(super) losses: Value,
    /// The input files, in order.
    pub(super) inputs: Vec<ManifestFile>,
    /// The file of judged pairs, if it is used and its [name](fpstore_base::labels::LabelFile::at) is known.
    pub(super) pairs: Option<ManifestFile>,
    /// The written files, in order.
    pub(super) outputs: Vec<ManifestFile>,
}

impl Manifest {
    /// The manifest as JSON, on several lines, with a final line end.
    pub fn to_json(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).expect("it has only texts and numbers");
        text.push('\n');
        text
    }
}

/// The counts of an account and an overview, as JSON.
pub(super) fn counts(account: &Account, overview: &Overview) -> Value {
    let reasons = overview.reasons.each().into_iter();
    let reasons = reasons.map(|(reason, count)| (reason.name().to_string(), Value::from(count)));
    serde_json::json!({
        "documents": account.document_count(),
        "kept": account.kept_count,
        "removed": account.removed_count(),
        "removed_by_reason": reasons.collect::<serde_json::Map<_, _>>(),
        "near_new": account.near_new_count,
        "near_stored": account.near_stored_count,
        "spared": account.spared_count,
        "without_fingerprint": account.empty_count,
        "bad_records": account.bad_count,
        "damaged_records": account.damaged_count,
        "added": account.added_count,
        "files_left_out": account.uncopied_count,
        "documents_left_out": account.left_out_count,
    })
}

/// The losses of an overview, as JSON.
pub(super) fn losses(overview: &Overview) -> Value {
    let of = |loss: &super::loss::Loss| {
        let (kind, name) = match &loss.of {
            LossOf::All => ("all", None),
            LossOf::File(name) => ("file", Some(name)),
            LossOf::Source(name) => ("source", Some(name)),
        };
        serde_json::json!({
            "of": kind,
            "name": name,
            "documents": loss.document_count,
            "removed": loss.removed_count,
            "without_fingerprint": loss.empty_count,
        })
    };
    overview.losses.iter().map(of).collect()
}

/// Computes the digests of files on `threads` threads; `watch` counts their bytes.
pub(super) fn digest_files(
    paths: &[PathBuf],
    threads: Option<usize>,
    watch: &Watch,
) -> Result<Vec<ManifestFile>> {
    let done = Mutex::new(vec![None; paths.len()]);
    on_threads(threads, paths.len(), |at| {
        let file = digest_file(&paths[at], watch)?;
        done.lock().unwrap_or_else(PoisonError::into_inner)[at] = Some(file);
        Ok(())
    })?;
    let done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    Ok(done.into_iter().map(|file| file.expect("each file was digested")).collect())
}

fn digest_file(path: &Path, watch: &Watch) -> Result<ManifestFile> {
    let cannot = |source| Error::from(IoError::of("read", path)(source));
    let mut file = disk::open(path).map_err(cannot)?;
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; READ_LEN];
    let mut bytes = 0;
    loop {
        let len = file.read(&mut buffer).map_err(cannot)?;
        if len == 0 {
            break;
        }
        hasher.update(&buffer[..len]);
        bytes += len as u64;
        watch.tick(len as u64)?;
    }
    let sha256 = hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(ManifestFile { path: path.display().to_string(), bytes, sha256 })
}
