//! The folder in which a job keeps what it has done, so that the same command can go on with it.
//!
//! A file of the folder appears when it is complete. The folder is removed when the job is finished.

use std::collections::HashSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, bail};
use serde_json::Value;

use super::super::leftovers::ScratchDir;
use super::super::new_file::NewFile;

const DESCRIPTION: &str = "job.json";
const LOCK: &str = "lock";
/// The name of its run.
const RUN: &str = "run";
/// The numbers of the files that are written, one a line.
const WRITTEN: &str = "written";

/// A job that is under way.
pub(super) struct Job {
    folder: PathBuf,
    is_resumed: bool,
    /// The name of the job where a store remembers that it has added its records.
    run: String,
    written: Mutex<Written>,
    /// The lock that others see.
    _lock: Option<File>,
    /// The folder of a job that nobody can go on with.
    scratch: Option<ScratchDir>,
}

#[derive(Default)]
struct Written {
    numbers: HashSet<usize>,
    to: Option<File>,
}

impl Job {
    /// A job in a temporary folder, which cannot be resumed.
    pub(super) fn scratch(parent: &Path) -> anyhow::Result<Self> {
        let scratch = ScratchDir::create(parent);
        let scratch =
            scratch.with_context(|| format!("cannot create a folder in {}", parent.display()))?;
        let folder = scratch.path().to_path_buf();
        let written = Mutex::default();
        let (run, scratch) = (new_run(), Some(scratch));
        Ok(Job { folder, is_resumed: false, run, written, _lock: None, scratch })
    }

    /// The job in this folder, which is the one that was described so, or a new one. With `force`
    /// another job there is given up.
    pub(super) fn open(folder: &Path, description: &Value, force: bool) -> anyhow::Result<Self> {
        let cannot = || format!("cannot use {}", folder.display());
        fs::create_dir_all(folder).with_context(cannot)?;
        let mut options = OpenOptions::new();
        let lock =
            options.create(true).append(true).open(folder.join(LOCK)).with_context(cannot)?;
        if lock.try_lock().is_err() {
            bail!("{} is in use: another process works on the same output", folder.display());
        }
        let earlier = fs::read_to_string(folder.join(DESCRIPTION));
        let earlier: Option<Value> = earlier.ok().map(|text| {
            // One that cannot be read is another one.
            serde_json::from_str(&text).unwrap_or_default()
        });
        let is_resumed = earlier.as_ref() == Some(description);
        if !is_resumed {
            if let Some(earlier) = earlier.filter(|_| !force) {
                bail!(
                    "{} holds unfinished work that differs in: {}; finish it with the command that \
                     began it, or give it up with --force",
                    folder.display(),
                    differences(&earlier, description),
                );
            }
            clear(folder).with_context(cannot)?;
        }
        let mut job = Job {
            folder: folder.into(),
            is_resumed,
            run: new_run(),
            written: Mutex::default(),
            _lock: Some(lock),
            scratch: None,
        };
        if is_resumed {
            job.run = fs::read_to_string(job.path(RUN)).with_context(cannot)?;
        } else {
            let run = job.run.clone();
            job.save(RUN, |out| Ok(out.write_all(run.as_bytes())?))?;
            job.save(DESCRIPTION, |out| Ok(write!(out, "{description}")?))?;
        }
        job.open_written().with_context(cannot)?;
        Ok(job)
    }

    fn open_written(&mut self) -> io::Result<()> {
        let path = self.path(WRITTEN);
        let text = fs::read_to_string(&path).unwrap_or_default();
        // The last line may be cut short; then its file is written again.
        let lines = text.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n'));
        let numbers = lines.filter_map(|line| line.parse().ok()).collect();
        let to = OpenOptions::new().create(true).append(true).open(path)?;
        if !text.is_empty() && !text.ends_with('\n') {
            // So that it never counts as a whole one.
            (&to).write_all(b"-\n")?;
        }
        *self.written.get_mut().unwrap_or_else(PoisonError::into_inner) =
            Written { numbers, to: Some(to) };
        Ok(())
    }

    /// Whether an earlier command began this job.
    pub(super) fn is_resumed(&self) -> bool {
        self.is_resumed
    }

    pub(super) fn run(&self) -> &str {
        &self.run
    }

    /// Removes what has begun; nothing is done yet.
    pub(super) fn give_up(&self) {
        if self.scratch.is_none() && !self.is_resumed {
            let _ = fs::remove_dir_all(&self.folder);
        }
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Writes a file of the job, which appears when it is complete.
    pub(super) fn save(
        &self,
        name: &str,
        write: impl FnOnce(&mut BufWriter<File>) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let path = self.path(name);
        let cannot = || format!("cannot write {}", path.display());
        let file = NewFile::create(path.clone(), None).with_context(cannot)?;
        let mut out = BufWriter::with_capacity(1 << 18, file.file().with_context(cannot)?);
        write(&mut out)?;
        out.flush().with_context(cannot)?;
        file.publish().with_context(cannot)
    }

    /// Whether the output of this number is written.
    pub(super) fn is_written(&self, number: usize) -> bool {
        self.written.lock().unwrap_or_else(PoisonError::into_inner).numbers.contains(&number)
    }

    /// Remembers that the output of this number is written.
    pub(super) fn set_written(&self, number: usize) -> anyhow::Result<()> {
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        written.numbers.insert(number);
        if let Some(to) = &mut written.to {
            let line = format!("{number}\n");
            to.write_all(line.as_bytes())
                .with_context(|| format!("cannot write {}", self.folder.join(WRITTEN).display()))?;
        }
        Ok(())
    }

    /// Removes the folder: nothing is left to do.
    pub(super) fn finish(self) -> anyhow::Result<()> {
        let cannot = || format!("cannot remove {}", self.folder.display());
        if let Some(scratch) = self.scratch {
            return scratch.close().with_context(cannot);
        }
        // Without the description, what is left is no job.
        fs::remove_file(self.folder.join(DESCRIPTION)).with_context(cannot)?;
        fs::remove_dir_all(&self.folder).with_context(cannot)
    }
}

/// A name that no other job has.
fn new_run() -> String {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let nanos = since.map_or(0, |since| since.as_nanos());
    format!("dedup-{nanos:x}-{}", std::process::id())
}

/// Removes all files but the lock.
fn clear(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            fs::remove_dir_all(entry.path())?;
        } else if entry.file_name() != LOCK {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

/// The keys whose values differ.
fn differences(one: &Value, other: &Value) -> String {
    let keys = other.as_object().into_iter().flatten().map(|(key, _)| key.as_str());
    let differ: Vec<&str> = keys.filter(|key| one.get(key) != other.get(key)).collect();
    differ.join(", ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_job_goes_on_where_it_was_stopped_and_another_is_refused() {
        let parent = tempfile::tempdir().unwrap();
        let folder = parent.path().join("work");
        let description = json!({"k": 3, "files": ["a"]});
        let job = Job::open(&folder, &description, false).unwrap();
        assert!(!job.is_resumed() && !job.is_written(1));
        assert!(Job::open(&folder, &description, false).is_err());
        job.save("part", |out| Ok(out.write_all(b"done")?)).unwrap();
        job.set_written(1).unwrap();
        job.set_written(30).unwrap();
        drop(job);
        // A line that a crash has cut short.
        let mut written = OpenOptions::new().append(true).open(folder.join(WRITTEN)).unwrap();
        written.write_all(b"4").unwrap();
        let job = Job::open(&folder, &description, false).unwrap();
        assert!(job.is_resumed() && job.is_written(1) && job.is_written(30));
        assert!(!job.is_written(3) && !job.is_written(4));
        assert_eq!(fs::read(job.path("part")).unwrap(), b"done");
        drop(job);
        let other = json!({"k": 4, "files": ["a"]});
        let refused = Job::open(&folder, &other, false).err().unwrap().to_string();
        assert!(refused.contains("differs in: k;"), "{refused}");
        let job = Job::open(&folder, &other, true).unwrap();
        assert!(!job.is_resumed() && !job.path("part").exists() && !job.is_written(1));
        job.finish().unwrap();
        assert!(!folder.exists());
    }
}
