//! Tests that the library `fpstore_corpus` gives the same results as the program: the same files,
//! rows and stores.

use std::fs;
use std::sync::atomic::{AtomicU64, Ordering};

use fpstore::rows::Side;
use fpstore::{Builder, Fingerprint, IdRef, Store, WriterOptions};
use fpstore_corpus::{
    Cleaner, DocumentSource, Error, Event, Judgement, KeepRule, KeepRules, LossLimit, LossRow,
};
use fpstore_documents::DocumentOptions;
use fpstore_text::{TextHasher, TextRecipe};

use crate::common::documents::{documents, json_lines};
use crate::common::program::{TestDir, names_in};

fn source() -> DocumentSource {
    let hasher = TextHasher::new(&TextRecipe::default()).unwrap();
    DocumentSource::of_texts(hasher, DocumentOptions::default())
}

fn cleaner(dir: &TestDir, output: &str) -> Cleaner<'static> {
    let output = Some(dir.path(output));
    Cleaner { output, ..Cleaner::new(source(), [dir.path("in")]) }
}

/// Makes documents as JSON Lines: many are near-duplicates or equal, and one is empty.
fn lines(count: usize, seed: u64) -> String {
    let none = "{\"id\":\"none\",\"text\":\"\"}\n";
    none.to_string() + &json_lines(&documents(count, seed, 60, 4))
}

fn dir() -> TestDir {
    let dir = TestDir::new();
    dir.write("in/a.jsonl", lines(150, 31));
    dir.write("in/b/c.jsonl", lines(80, 32));
    dir.write("old.jsonl", lines(60, 31));
    for store in ["s.fps", "t.fps"] {
        dir.ok(&["build", "--docs", "old.jsonl", "-s", store, "-k", "7", "--sketch", "-q"], "");
    }
    dir
}

/// Fails unless two files or folders have the same contents.
fn assert_same(dir: &TestDir, one: &str, other: &str) {
    if !dir.path(one).is_dir() {
        return assert!(dir.read(one) == dir.read(other), "{one} and {other}");
    }
    let names = names_in(&dir.path(one));
    assert_eq!(names, names_in(&dir.path(other)));
    for name in names {
        assert_same(dir, &format!("{one}/{name}"), &format!("{other}/{name}"));
    }
}

#[test]
fn a_cleaning_by_the_library_is_that_of_the_program() {
    let dir = dir();
    for (number, (confirm, keep, store)) in [
        (None, "first", false),
        (Some("0.8"), "longest", false),
        (None, "last", true),
        (Some("0.8"), "first", true),
    ]
    .into_iter()
    .enumerate()
    {
        let (by_program, by_library) = (format!("program{number}"), format!("library{number}"));
        let rows = format!("{number}.tsv");
        let mut args = vec!["clean", "in", "--keep", keep, "-o", by_program.as_str()];
        args.extend(["--removed", rows.as_str(), "-q"]);
        args.extend(confirm.map_or(["-k", "7"], |is| ["--confirm", is]));
        let run = format!("run{number}");
        if store {
            args.extend(["-s", "s.fps", "--within", "--add", "--run", run.as_str()]);
        }
        dir.run(&args, 0);

        let of_library = || Cleaner {
            keep: keep.parse::<KeepRules>().unwrap(),
            confirm: confirm.map(|is| is.parse().unwrap()),
            k: confirm.is_none().then_some(7),
            against: store.then(|| Store::open(dir.path("t.fps")).unwrap()),
            within: true,
            add: store.then(|| WriterOptions::default().run(run.clone())),
            ..cleaner(&dir, &by_library)
        };
        let cleaned = of_library().begin().unwrap().unwrap().run().unwrap();
        let mut found = String::new();
        cleaned
            .for_each_removed(|row| -> Result<(), Error> {
                let similarity = row.similarity.map(|is| format!("{is:.4}")).unwrap_or_default();
                let side = if row.side == Side::Stored { "stored" } else { "new" };
                found.push_str(&format!(
                    "{}\t{}\t{}\t{similarity}\t{}\t{}\t{side}\t{}\n",
                    row.fingerprint,
                    row.other,
                    row.distance,
                    row.id.unwrap(),
                    row.other_id.unwrap(),
                    row.reason.name(),
                ));
                Ok(())
            })
            .unwrap();
        assert_eq!(found, dir.read(&rows));
        let mut kept_count = 0;
        let count = |_: Fingerprint, _: IdRef<'_>| -> Result<(), Error> {
            kept_count += 1;
            Ok(())
        };
        cleaned.for_each_kept(count).unwrap();
        let account = cleaned.finish().unwrap();
        assert_eq!(account.removed_count(), found.lines().count() as u64);
        assert_eq!((account.kept_count, account.document_count()), (kept_count, 230));
        assert_eq!((account.empty_count, account.file_count), (2, 2));
        assert_same(&dir, &by_program, &by_library);
        assert_eq!(account.near_stored_count > 0, store);
        // In the third run almost all documents are near stored ones.
        assert!(account.near_new_count > 0 || number == 3);
        if store {
            assert_eq!(account.added_count, kept_count);
            let dump = |store| dir.ok(&["dump", "-s", store], "");
            assert_eq!(dump("t.fps"), dump("s.fps"));
            // A repeated run does nothing, and is not an error.
            assert!(of_library().run().unwrap().was_added_before);
        }
    }
}

/// The losses that the program prints are those that the library returns, also if a limit is
/// exceeded.
#[test]
fn the_overview_of_the_library_is_that_of_the_program() {
    let dir = dir();
    dir.run(&["clean", "in", "-o", "one", "--losses", "losses.tsv", "-q"], 0);
    let cleaned = cleaner(&dir, "two").begin().unwrap().unwrap().run().unwrap();
    let overview = cleaned.overview().unwrap();
    assert_eq!(overview.judgement, Judgement::Features { similarity: 0.8, contained: None });
    let rows = overview.losses.iter().map(fpstore_corpus::Loss::row);
    let line = |row: LossRow<'_>| {
        let LossRow { kind, name, document_count, removed_count, empty_count } = row;
        format!("{kind}\t{name}\t{document_count}\t{removed_count}\t{empty_count}\n")
    };
    assert_eq!(rows.map(line).collect::<String>(), dir.read("losses.tsv"));
    let account = cleaned.finish().unwrap();
    let all = &overview.losses[0];
    assert_eq!(
        (all.document_count, all.removed_count),
        (account.document_count(), account.removed_count())
    );
    assert_eq!(overview.losses.len(), 3);
    let limited = |limit| {
        let max_loss = Some(LossLimit::new(limit).unwrap());
        Cleaner { max_loss, ..cleaner(&dir, "three") }
    };
    match limited(0.1).run().unwrap_err() {
        Error::TooMuchLost { limit, overview: found, .. } => {
            assert_eq!((limit.part(), *found), (0.1, overview));
        }
        error => panic!("{error}"),
    }
    assert_eq!(names_in(&dir.path("three")), [".fpstore-dedup"]);
    assert_eq!(limited(1.0).run().unwrap(), account);
    assert_same(&dir, "one", "three");
}

#[test]
fn stopped_work_goes_on_with_the_same_settings() {
    let dir = dir();
    let cleaner = |output| Cleaner { confirm: Some(0.8), ..cleaner(&dir, output) };
    cleaner("whole").run().unwrap();
    let cleaning = cleaner("out").begin().unwrap().unwrap();
    assert!(!cleaning.is_resumed());
    // A folder has the name of an output file, so the file cannot be written.
    fs::create_dir(dir.path("out/a.jsonl")).unwrap();
    let stopped = cleaning.run().err();
    assert!(matches!(stopped, Some(Error::Store(fpstore::Error::Io { .. }))));
    fs::remove_dir(dir.path("out/a.jsonl")).unwrap();
    let other = Cleaner { keep: KeepRule::Last.into(), ..cleaner("out") }.run();
    assert!(matches!(&other, Err(Error::Unfinished { differences, .. }) if differences == "keep"));
    let resumed = AtomicU64::new(0);
    let listener = |event: Event<'_>| match event {
        Event::Resumed { done, count } => {
            assert_eq!((done, count), (1, 1));
            resumed.fetch_add(1, Ordering::Relaxed);
        }
        // The documents of both files have the ids 0 to 79.
        Event::RepeatedIds(found) => assert_eq!((found.count, found.is_least), (80, false)),
        event => panic!("{event:?}"),
    };
    let again = Cleaner { listener: Some(&listener), ..cleaner("out") };
    let cleaning = again.begin().unwrap().unwrap();
    assert!(cleaning.is_resumed());
    cleaning.run().unwrap().finish().unwrap();
    assert_eq!(resumed.into_inner(), 1);
    assert_same(&dir, "whole", "out");
    let again = cleaner("out").run();
    assert!(matches!(again, Err(Error::Exists { path, .. }) if path.ends_with("out/a.jsonl")));
    Cleaner { replace: true, ..cleaner("out") }.run().unwrap();
    assert_same(&dir, "whole", "out");
}

#[test]
fn settings_that_do_not_fit_are_refused_before_anything_is_written() {
    let dir = dir();
    let cleaner = |output| cleaner(&dir, output);
    let before = names_in(dir.folder());
    for refused in [
        Cleaner { confirm: Some(1.5), ..cleaner("out") },
        Cleaner { add: Some(WriterOptions::default()), ..cleaner("out") },
        cleaner("in"),
        cleaner("in/b/x"),
        Cleaner { paths: vec!["-".into()], ..cleaner("out") },
    ] {
        let error = refused.run().unwrap_err();
        let is_refused = matches!(error, Error::Store(fpstore::Error::InvalidOptions { .. }));
        assert!(is_refused, "{error}");
    }
    assert_eq!(names_in(dir.folder()), before);
}

#[test]
fn documents_are_ingested_as_the_program_builds_a_store() {
    let dir = dir();
    dir.ok(&["build", "--docs", "in", "-s", "program.fps", "-q"], "");
    let mut builder = Builder::with_options(
        dir.path("library.fps"),
        fpstore::BuildOptions::default().recipe(source().recipe()),
    )
    .unwrap();
    let summary = source()
        .ingest(&[dir.path("in")], |fingerprint, id, sketch| {
            builder.push_sketched(fingerprint, id, sketch)
        })
        .unwrap();
    assert_eq!((summary.document_count, summary.empty_count), (230, 2));
    builder.finish().unwrap();
    let dump = |store| dir.ok(&["dump", "-s", store], "");
    assert_eq!(dump("library.fps"), dump("program.fps"));
    let mut count = 0;
    let pass = |_: Fingerprint, _: IdRef<'_>, sketch: &[u8]| {
        assert_eq!(sketch.len(), 32);
        count += 1;
        Ok(())
    };
    source().sketched(32).ingest(&[dir.path("in")], pass).unwrap();
    assert_eq!(count, 230);
    let missing = source().ingest(&[dir.path("missing")], |_, _, _| Ok(()));
    assert!(matches!(missing, Err(Error::Text(_))));
}
