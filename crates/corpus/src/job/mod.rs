//! A job, the work of a cleaning, and its folder, which contains the results of the finished steps.
//! A later run with the same settings resumes the job.
//!
//! A file of the folder appears when it is complete. It begins with a line that contains the name
//! of the job and the name of the file, and ends with its digest. A file that is damaged, of
//! another job, or renamed counts as missing. The folder is removed when the job is finished. All
//! files are opened through the handle of the folder, so if another folder gets the same path, that
//! other folder is not touched.

mod written;

use fpstore_base::IoError;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};

use super::error::{Error, Result};
use fpstore_disk::{
    self as disk, Digest, DigestReader, DigestWriter, NewFile, OwnFolder, ScratchDirectory,
};
pub(super) use written::Output;
use written::{Outputs, WRITTEN};

/// Each file begins with a line of this word, the name of its job, and its own name.
const MARK: &str = "fpstore-dedup";
/// Maximum length in bytes of the first line of a file of a job.
const MARK_LEN_MAX: u64 = 1024;
const DESCRIPTION: &str = "job.json";
const LOCK: &str = "lock";
/// The number of attempts to open a folder that another job is removing, and the pause between
/// them.
const OPEN_TRIES: u32 = 1000;
const OPEN_PAUSE: Duration = Duration::from_millis(2);
/// The key that is true in the description of a finished job.
const DONE: &str = "done";
/// Prefix of the file names of the spools.
pub(super) const PART: &str = "spool-";
/// The name of the file with the dropped documents and the reasons.
pub(super) const DECISIONS: &str = "decisions";
/// Prefix of the names of the files with the features of documents.
pub(super) const FEATURES: &str = "features-";
/// The name of the file with the numbers of the input files that could not be copied.
const LEFT_OUT: &str = "left-out";

/// An open job.
#[derive(Debug)]
pub(super) struct Job {
    folder: Arc<OwnFolder>,
    place: Place,
    space: Option<WorkingSpace>,
    is_resumed: bool,
    /// Whether a finished job with the same settings left the folder behind.
    has_ended: bool,
    /// The name of the job, which a store records when it adds the documents of the job.
    run: String,
    written: Mutex<Outputs>,
}

/// Where a job keeps its files.
#[derive(Debug)]
enum Place {
    /// A temporary folder: the job cannot be resumed.
    Scratch(ScratchDirectory),
    /// A folder next to or in the output, with a lock file against other processes.
    Named { lock: Mutex<Option<File>> },
}

impl Job {
    fn new(folder: OwnFolder, place: Place) -> Self {
        let (folder, written) = (Arc::new(folder), Mutex::default());
        let run = new_run();
        Job { folder, place, space: None, is_resumed: false, has_ended: false, run, written }
    }

    /// A job in a temporary folder, which cannot be resumed.
    pub(super) fn scratch(parent: &Path) -> Result<Self> {
        let scratch = ScratchDirectory::create(parent)?;
        let folder = OwnFolder::open(scratch.path());
        let folder = folder.map_err(IoError::of("use", scratch.path()))?;
        Ok(Job::new(folder, Place::Scratch(scratch)))
    }

    /// Resumes the job in the folder `path` if its settings are the same, or begins a new one. With
    /// `force` a job with other settings is discarded. A job whose documents a store `has_added` is
    /// never discarded: a new job would remove all of them as near stored ones, and write no
    /// documents to the outputs.
    pub(super) fn open(
        path: &Path,
        settings: &Value,
        force: bool,
        has_added: impl Fn(&str) -> bool,
    ) -> Result<Self> {
        let cannot = || IoError::of("use", path);
        let mut tries = 0;
        let (folder, lock) = loop {
            let opened = OwnFolder::open(path).and_then(|folder| {
                // Nothing is written to a folder with foreign files.
                match folder.names()?.into_iter().find(|name| !is_of_a_job(name)) {
                    Some(name) => Ok(Err(foreign(path, &name))),
                    None => folder.append(LOCK).map(|lock| Ok((folder, lock))),
                }
            });
            tries += 1;
            let (folder, lock) = match opened {
                // Another job ended and removed the folder just now.
                Err(gone) if disk::system::is_being_removed(&gone) && tries < OPEN_TRIES => {
                    std::thread::sleep(OPEN_PAUSE);
                    continue;
                }
                opened => opened.map_err(cannot())??,
            };
            if lock.try_lock().is_err() {
                return Err(Error::InUse { folder: path.into() });
            }
            // Another job may have ended and removed the lock file before this one locked it.
            if folder.holds(LOCK, &lock) {
                break (folder, lock);
            }
        };
        let names = folder.names().map_err(cannot())?;
        if let Some(name) = names.iter().find(|name| !is_of_a_job(name)) {
            return Err(foreign(path, name));
        }
        let mut job = Job::new(folder, Place::Named { lock: Mutex::new(Some(lock)) });
        // Removes working spaces of killed processes; this process has the lock, so none is in use.
        for name in names.iter().filter(|name| ScratchDirectory::is_name(name)) {
            job.folder.remove_tree(name).map_err(cannot())?;
        }
        // A damaged description counts as the description of another job.
        let earlier = job
            .read(DESCRIPTION)?
            .map(|bytes| serde_json::from_slice::<Value>(&bytes).unwrap_or_default());
        let is_done = earlier.as_ref().is_some_and(|earlier| earlier[DONE] == true);
        let is_same =
            |earlier: &Value| earlier["settings"] == *settings && earlier["run"].is_string();
        job.has_ended = is_done && earlier.as_ref().is_some_and(is_same);
        let earlier = earlier.filter(|_| !is_done);
        let resumed = earlier.as_ref().filter(|earlier| is_same(earlier));
        let resumed = resumed.and_then(|earlier| earlier["run"].as_str()).map(str::to_string);
        // The description may be lost or of another job, so the names of jobs are read from all
        // files.
        let runs = job.runs(&names, earlier.as_ref()).map_err(cannot())?;
        let mut others = runs.iter().filter(|&run| resumed.as_ref() != Some(run));
        if !is_done && others.any(|run| has_added(run)) {
            return Err(Error::refused(format!(
                "the store already has the documents of the unfinished work in {}, so its outputs are \
                 complete; finish the work with the command that began it, on the same files, or move \
                 the outputs away and remove that folder",
                path.display()
            )));
        }
        if let Some(run) = resumed {
            job.is_resumed = true;
            job.run = run;
        } else {
            let has_parts = names.iter().any(|name| name.starts_with(PART));
            if let Some(earlier) = earlier.filter(|_| !force && has_parts) {
                let differences = differences(&earlier["settings"], settings);
                return Err(Error::Unfinished { folder: path.into(), differences });
            }
            job.clear().map_err(cannot())?;
            let description = json!({"settings": settings, "run": job.run});
            job.save_bytes(DESCRIPTION, description.to_string().as_bytes())?;
        }
        job.written = Mutex::new(Outputs::open(&job.folder).map_err(cannot())?);
        Ok(job)
    }

    /// The names of the jobs in the description `described`, and in the first lines of the spools
    /// and of the decisions.
    fn runs(&self, names: &[String], described: Option<&Value>) -> io::Result<BTreeSet<String>> {
        let named = described.into_iter().flat_map(|it| [&it["run"], &it["settings"]["run"]]);
        let mut runs: BTreeSet<_> = named.filter_map(Value::as_str).map(Into::into).collect();
        for name in names.iter().filter(|name| name.starts_with(PART) || *name == DECISIONS) {
            let Some(file) = self.folder.open_file(name)? else { continue };
            let mut line = Vec::new();
            BufReader::new(file.take(MARK_LEN_MAX)).read_until(b'\n', &mut line)?;
            let line = String::from_utf8_lossy(&line);
            if let [MARK, run, _] = line.split(' ').collect::<Vec<_>>()[..] {
                runs.insert(run.to_string());
            }
        }
        Ok(runs)
    }

    /// The first line of a file. The first line of the description omits the name of the job, which
    /// is not known before the description is read.
    pub(super) fn mark(&self, name: &str) -> String {
        let run = if name == DESCRIPTION { "" } else { &self.run };
        format!("{MARK} {run} {name}\n")
    }

    /// Whether an earlier process began this job.
    pub(super) fn is_resumed(&self) -> bool {
        self.is_resumed
    }

    /// Whether the outputs of a job with the same settings are complete: the job was interrupted
    /// before it removed its folder, the last step.
    pub(super) fn has_ended(&self) -> bool {
        self.has_ended
    }

    /// Whether a later process can resume the job.
    pub(super) fn is_named(&self) -> bool {
        matches!(self.place, Place::Named { .. })
    }

    pub(super) fn run(&self) -> &str {
        &self.run
    }

    pub(super) fn folder(&self) -> &Arc<OwnFolder> {
        &self.folder
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Creates a folder for temporary files of this process. They are opened by path, so the folder
    /// has an unpredictable name, which does not exist if another folder gets the path of the job's
    /// folder.
    pub(super) fn make_working_space(&mut self) -> Result<PathBuf> {
        let made = WorkingSpace::create(&self.folder);
        let (space, path) = made.map_err(IoError::of("use", self.folder.path()))?;
        self.space = Some(space);
        Ok(path)
    }

    pub(super) fn remove_working_space(&mut self) {
        self.space = None;
    }

    /// Writes a file of the job: its first line, its contents, and its digest. The file appears
    /// when it is complete.
    pub(super) fn save<T>(
        &self,
        name: &str,
        write: impl FnOnce(&mut DigestWriter<BufWriter<File>>) -> Result<T>,
    ) -> Result<T> {
        let path = self.path(name);
        let cannot = || IoError::of("write", &path);
        let file = self.folder.new_file(name).map_err(cannot())?;
        let buffer = BufWriter::with_capacity(1 << 18, file.file().map_err(cannot())?);
        let mut out = DigestWriter::new(buffer);
        out.write_all(self.mark(name).as_bytes()).map_err(cannot())?;
        let done = write(&mut out)?;
        out.seal().map_err(cannot())?;
        file.publish().map_err(cannot())?;
        Ok(done)
    }

    /// Writes a file of the job with these contents.
    pub(super) fn save_bytes(&self, name: &str, bytes: &[u8]) -> Result<()> {
        let cannot = IoError::of("write", self.path(name));
        self.save(name, |out| Ok(out.write_all(bytes).map_err(cannot)?))
    }

    /// The contents of a file of the job, without the first line and the digest; `None` if the file
    /// is missing, damaged, of another job, or renamed.
    pub(super) fn read(&self, name: &str) -> Result<Option<Vec<u8>>> {
        // Only a job that can be resumed reads files back.
        let read = if self.is_named() { self.folder.read(name) } else { Ok(None) };
        let Some(mut bytes) = read.map_err(IoError::of("read", self.path(name)))? else {
            return Ok(None);
        };
        let len = bytes.len().saturating_sub(16);
        let is_sound = Digest::read(&bytes, len) == Some(Digest::of(&bytes[..len]));
        bytes.truncate(len);
        let own = bytes.strip_prefix(self.mark(name).as_bytes());
        Ok(own.filter(|_| is_sound).map(<[u8]>::to_vec))
    }

    /// Whether a file of this name is complete, undamaged and of this job.
    pub(super) fn is_sound(&self, name: &str) -> bool {
        let check = || -> io::Result<bool> {
            let file = self.folder.open_file(name)?.ok_or(io::ErrorKind::NotFound)?;
            let len = file.metadata()?.len().saturating_sub(16);
            let mut from = DigestReader::new(BufReader::with_capacity(1 << 18, file));
            let mark = self.mark(name);
            let mut start = vec![0; mark.len()];
            from.read_exact(&mut start)?;
            let rest = len.saturating_sub(mark.len() as u64);
            io::copy(&mut from.by_ref().take(rest), &mut io::sink())?;
            Ok(start == mark.as_bytes() && from.ends_sealed()?)
        };
        check().unwrap_or(false)
    }

    /// Whether a file of this name exists, damaged or not.
    pub(super) fn has(&self, name: &str) -> bool {
        self.folder.has(name).unwrap_or(false)
    }

    /// Removes a file of the job, so that it is written again.
    pub(super) fn discard(&self, name: &str) -> Result<()> {
        let removed = self.folder.remove_file(name);
        Ok(removed.map_err(IoError::of("remove", self.path(name)))?)
    }

    /// Removes the spools, the features and the decisions, the decisions first. Errors are ignored:
    /// if a spool remains, copying a changed file fails again.
    pub(super) fn forget_read(&self) {
        let names = self.folder.names().unwrap_or_default();
        let parts = names.iter().filter(|name| is_of_a_batch(name)).map(String::as_str);
        let all = std::iter::once(DECISIONS).chain(parts);
        all.for_each(|name| drop(self.discard(name)));
    }

    /// The output with this number, if the job has written it.
    pub(super) fn output(&self, number: usize) -> Option<Output> {
        self.written.lock().unwrap_or_else(PoisonError::into_inner).get(number)
    }

    /// Records an output before it gets its final name.
    pub(super) fn note_output(&self, number: usize, output: Output) -> Result<()> {
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(written.note(number, output)?)
    }

    /// The numbers of files that could not be copied, though they could be read before.
    pub(super) fn left_out(&self) -> Result<Vec<u32>> {
        let bytes = self.read(LEFT_OUT)?.unwrap_or_default();
        Ok(bytes
            .chunks_exact(4)
            .filter_map(|four| Some(u32::from_le_bytes(four.try_into().ok()?)))
            .collect())
    }

    /// Replaces the recorded numbers of files that could not be copied.
    pub(super) fn leave_out(&self, numbers: &[u32]) -> Result<()> {
        let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
        self.save_bytes(LEFT_OUT, &bytes)
    }

    /// Removes the folder if it contains no spool, so no finished work.
    pub(super) fn give_up(&self) {
        let names = self.folder.names().unwrap_or_default();
        if !names.iter().any(|name| name.starts_with(PART)) {
            let _ = self.remove();
        }
    }

    /// Removes the folder with all results, which no later run can use. The next job discards the
    /// files that cannot be removed now.
    pub(super) fn drop_all(&self) {
        let _ = self.remove();
    }

    /// Removes the folder of a finished job.
    pub(super) fn finish(self) -> Result<()> {
        if let Place::Scratch(scratch) = self.place {
            return Ok(scratch.remove()?);
        }
        self.mark_done()?;
        // The next job removes the files that cannot be removed now.
        let _ = self.remove();
        Ok(())
    }

    /// Records in the description that nothing is left to do.
    fn mark_done(&self) -> Result<()> {
        let described = self.read(DESCRIPTION)?.unwrap_or_default();
        let described: Value = serde_json::from_slice(&described).unwrap_or_default();
        let done = json!({DONE: true, "settings": described["settings"], "run": described["run"]});
        let done = done.to_string();
        if let Err(error) = self.save_bytes(DESCRIPTION, done.as_bytes())
            && self.read(DESCRIPTION)?.as_deref() != Some(done.as_bytes())
        {
            return Err(error);
        }
        Ok(())
    }

    fn remove(&self) -> io::Result<()> {
        let Place::Named { lock } = &self.place else { return Ok(()) };
        if !disk::system::REMOVES_OPEN_FILES {
            *self.written.lock().unwrap_or_else(PoisonError::into_inner) = Outputs::default();
        }
        self.clear()?;
        self.folder.remove_file(LOCK)?;
        if !disk::system::REMOVES_OPEN_FILES {
            // The name of the removed lock file exists until the file is closed, and the folder can
            // be removed only after that.
            drop(lock.lock().unwrap_or_else(PoisonError::into_inner).take());
        }
        self.folder.remove()
    }

    /// Removes all files except the lock, the description last: it determines whether the other
    /// files can be used.
    fn clear(&self) -> io::Result<()> {
        let mut names = self.folder.names()?;
        names.sort_by_key(|name| name == DESCRIPTION);
        for name in names.iter().filter(|name| name.as_str() != LOCK) {
            match ScratchDirectory::is_name(name) {
                true => self.folder.remove_tree(name)?,
                false => self.folder.remove_file(name)?,
            }
        }
        Ok(())
    }
}

/// A folder for temporary files in the folder of a job, removed on drop.
#[derive(Debug)]
struct WorkingSpace {
    folder: Arc<OwnFolder>,
    name: String,
}

impl WorkingSpace {
    fn create(folder: &Arc<OwnFolder>) -> io::Result<(Self, PathBuf)> {
        let name = ScratchDirectory::new_name()?;
        let path = folder.make_folder(&name)?;
        Ok((WorkingSpace { folder: folder.clone(), name }, path))
    }
}

impl Drop for WorkingSpace {
    fn drop(&mut self) {
        // The next job removes the files that cannot be removed now.
        let _ = self.folder.remove_tree(&self.name);
    }
}

/// The error for a folder that contains a file that no job created.
fn foreign(path: &Path, name: &str) -> Error {
    Error::refused(format!(
        "{} contains '{name}', which no cleaning has made; move it away, or name another output",
        path.display()
    ))
}

/// A unique name for a job.
fn new_run() -> String {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let nanos = since.map_or(0, |since| since.as_nanos());
    format!("dedup-{nanos:x}-{}", std::process::id())
}

/// Whether this is the name of a spool or of a file of features.
fn is_of_a_batch(name: &str) -> bool {
    let number = name.strip_prefix(PART).or_else(|| name.strip_prefix(FEATURES));
    number.is_some_and(|at| at.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Whether jobs create files or folders of this name.
fn is_of_a_job(name: &str) -> bool {
    // Jobs of earlier releases can contain the files `connections` and `run`.
    [LOCK, DESCRIPTION, DECISIONS, LEFT_OUT, WRITTEN, "connections", "run"].contains(&name)
        || is_of_a_batch(name)
        || ScratchDirectory::is_name(name)
        || NewFile::is_temporary_name(name)
}

/// The names of the settings that differ, separated by commas.
fn differences(one: &Value, other: &Value) -> String {
    let keys = other.as_object().into_iter().flatten().map(|(key, _)| key.as_str());
    let differ = keys.filter(|key| one.get(key) != other.get(key));
    let named = differ.map(|key| match (key, one.get(key)) {
        // The version is not an option of the user, so its difference is described in words.
        ("version", Some(Value::String(version))) => {
            format!("the version of fpstore, which was {version}")
        }
        _ => key.to_string(),
    });
    named.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests;
