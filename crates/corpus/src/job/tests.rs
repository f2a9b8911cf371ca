use std::fs;

use super::*;

fn output(number: u64) -> Output {
    let digest = Digest::of(&number.to_le_bytes());
    Output { len: number, digest, decisions: Digest::of(b"decisions") }
}

fn open(folder: &Path, settings: &Value, force: bool) -> Result<Job> {
    Job::open(folder, settings, force, |_| false)
}

#[test]
fn a_job_goes_on_where_it_was_stopped_and_another_is_refused() {
    let parent = tempfile::tempdir().unwrap();
    let folder = parent.path().join("work");
    let settings = json!({"k": 3, "files": ["a"]});
    let job = open(&folder, &settings, false).unwrap();
    assert!(!job.is_resumed() && job.output(1).is_none());
    assert!(open(&folder, &settings, false).is_err());
    job.save_bytes("spool-0", b"done").unwrap();
    job.note_output(1, output(7)).unwrap();
    job.note_output(30, output(8)).unwrap();
    let run = job.run().to_string();
    drop(job);
    // A line truncated by a crash.
    let cut = |text: &str| {
        let mut written = fs::File::options().append(true).open(folder.join(WRITTEN)).unwrap();
        written.write_all(text.as_bytes()).unwrap();
    };
    cut("4");
    let job = open(&folder, &settings, false).unwrap();
    assert!(job.is_resumed() && job.run() == run);
    assert_eq!((job.output(1), job.output(30)), (Some(output(7)), Some(output(8))));
    assert_eq!((job.output(3), job.output(4)), (None, None));
    // A line appended after the truncated line is not joined to it.
    job.note_output(5, output(9)).unwrap();
    drop(job);
    let job = open(&folder, &settings, false).unwrap();
    assert_eq!((job.output(45), job.output(5)), (None, Some(output(9))));
    assert_eq!(job.read("spool-0").unwrap().unwrap(), b"done");
    drop(job);
    let other = json!({"k": 4, "files": ["a"]});
    let refused = open(&folder, &other, false).err().unwrap().to_string();
    assert!(refused.ends_with("other settings: k"), "{refused}");
    let job = open(&folder, &other, true).unwrap();
    assert!(!job.is_resumed() && !job.path("spool-0").exists() && job.output(1).is_none());
    // This job has done no work, so a job with other settings replaces it.
    drop(job);
    let job = open(&folder, &settings, false).unwrap();
    assert!(!job.is_resumed());
    job.give_up();
    assert!(!folder.exists());
    drop(job);
    let job = open(&folder, &settings, false).unwrap();
    assert!(!job.has_ended());
    job.finish().unwrap();
    assert!(!folder.exists());
}

/// A job that was interrupted after its end, before it removed its folder, is recognised as ended.
#[test]
fn a_job_that_had_ended_is_known_by_its_settings() {
    let parent = tempfile::tempdir().unwrap();
    let folder = parent.path().join("work");
    for (settings, is_known) in [(json!({"k": 3}), true), (json!({"k": 4}), false)] {
        let job = open(&folder, &json!({"k": 3}), false).unwrap();
        job.save_bytes("spool-0", b"done").unwrap();
        job.mark_done().unwrap();
        drop(job);
        let job = open(&folder, &settings, false).unwrap();
        assert_eq!((job.has_ended(), job.is_resumed()), (is_known, false));
        assert!(!job.has("spool-0"));
        job.give_up();
    }
}

/// A folder contains the files of a job whose documents are in the store, and the description of
/// another job with the same settings. A new job would keep none of the documents, so it is
/// refused.
#[test]
fn a_job_whose_description_is_that_of_another_is_not_begun_again_if_it_was_added() {
    let parent = tempfile::tempdir().unwrap();
    let (folder, elsewhere) = (parent.path().join("work"), parent.path().join("elsewhere"));
    let settings = json!({"k": 3});
    let job = open(&folder, &settings, false).unwrap();
    job.save_bytes(DECISIONS, b"some decisions").unwrap();
    let run = job.run().to_string();
    drop(job);
    let other = open(&elsewhere, &settings, false).unwrap();
    fs::copy(other.path(DESCRIPTION), folder.join(DESCRIPTION)).unwrap();
    for force in [false, true] {
        let refused = Job::open(&folder, &settings, force, |name| name == run);
        let refused = refused.err().unwrap().to_string();
        assert!(refused.contains("the store already has the documents"), "{refused}");
        assert!(folder.join(DECISIONS).exists());
    }
    let job = open(&folder, &settings, false).unwrap();
    assert!(job.is_resumed() && job.run() == other.run());
    assert!(job.read(DECISIONS).unwrap().is_none());
}

/// A file with a changed bit or a truncated file counts as missing. A job without description is
/// not resumed.
#[test]
fn a_damaged_file_of_a_job_counts_as_missing() {
    let parent = tempfile::tempdir().unwrap();
    let folder = parent.path().join("work");
    let settings = json!({"k": 3});
    let job = open(&folder, &settings, false).unwrap();
    job.save_bytes(DECISIONS, b"some decisions").unwrap();
    let path = job.path(DECISIONS);
    let whole = fs::read(&path).unwrap();
    for at in 0..whole.len() {
        let mut changed = whole.clone();
        changed[at] ^= 1;
        fs::write(&path, &changed).unwrap();
        assert!(job.read(DECISIONS).unwrap().is_none(), "byte {at}");
        fs::write(&path, &whole[..at]).unwrap();
        assert!(job.read(DECISIONS).unwrap().is_none(), "{at} bytes");
    }
    fs::write(&path, &whole).unwrap();
    assert_eq!(job.read(DECISIONS).unwrap().unwrap(), b"some decisions");
    // Saving again replaces the damaged file.
    fs::write(&path, b"torn").unwrap();
    job.save_bytes(DECISIONS, b"new").unwrap();
    assert_eq!(job.read(DECISIONS).unwrap().unwrap(), b"new");
    drop(job);
    fs::remove_file(folder.join(DESCRIPTION)).unwrap();
    assert!(!open(&folder, &settings, false).unwrap().is_resumed());
}

/// A job may end and remove its folder while another process is about to lock it.
#[test]
fn one_job_at_a_time_has_a_folder() {
    use std::sync::atomic::{AtomicUsize, Ordering};
    let parent = tempfile::tempdir().unwrap();
    let folder = parent.path().join("work");
    let (holders, begun) = (AtomicUsize::new(0), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..100 {
                    match open(&folder, &json!({"k": 3}), false) {
                        Ok(job) => {
                            assert_eq!(holders.fetch_add(1, Ordering::SeqCst), 0);
                            begun.fetch_add(1, Ordering::SeqCst);
                            holders.fetch_sub(1, Ordering::SeqCst);
                            job.give_up();
                        }
                        Err(Error::InUse { .. }) => {}
                        Err(error) => panic!("{}", fpstore_base::chain(&error)),
                    }
                }
            });
        }
    });
    assert!(begun.into_inner() > 0 && !folder.exists());
}

/// A folder with files that no job creates is not emptied.
#[test]
fn a_folder_with_files_of_others_is_left_as_it_is() {
    let parent = tempfile::tempdir().unwrap();
    let folder = parent.path().join("work");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("thesis.txt"), "precious").unwrap();
    for force in [false, true] {
        let refused = open(&folder, &json!({"k": 3}), force).err().unwrap().to_string();
        assert!(refused.contains("contains 'thesis.txt'"), "{refused}");
    }
    assert_eq!(fs::read(folder.join("thesis.txt")).unwrap(), b"precious");
    #[cfg(unix)]
    {
        let link = parent.path().join("link");
        std::os::unix::fs::symlink(&folder, &link).unwrap();
        assert!(open(&link, &json!({"k": 3}), true).is_err());
        assert_eq!(fs::read(folder.join("thesis.txt")).unwrap(), b"precious");
    }
}
