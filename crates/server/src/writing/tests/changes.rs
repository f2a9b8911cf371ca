//! Labels, expiry, imports and merges of a server: each disk operation fails once, and the store is
//! compared with a model.

use std::collections::BTreeSet;
use std::path::Path;

use super::*;
use fpstore::writer::{Arrivals, Compaction, Expiry};
use fpstore::{BuildOptions, Builder, IdRef, Store, WriterOptions};
use fpstore_disk::fail_points::{self, Fault};

/// Builds a store of one record.
fn build(path: &Path, number: u64, label: &str) {
    let options = BuildOptions::default().label(label);
    let mut builder = Builder::with_options(path, options).unwrap();
    let id = format!("{label} {number}");
    builder.push(record(number, "").fingerprint, IdRef::Text(&id)).unwrap();
    builder.finish().unwrap();
}

/// Whether a change took effect, according to its answer.
fn took_place<T>(answer: &Result<T, Failure>) -> bool {
    answer.as_ref().map_or_else(|failure| failure.code == "in-effect", |_| true)
}

#[test]
fn labels_expiry_imports_and_merges_hold_whichever_operation_fails() {
    let runtime = runtime();
    let mut refused = 0;
    for fault in [Fault::Full, Fault::Broken] {
        for fails_at in 1.. {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("store.fps");
            build(&path, 1, "2026-01");
            let options = WriterOptions::default().label("2026-02").compact(false);
            let mut writer = Writer::with_options(&path, options).unwrap();
            writer.push(record(2, "").fingerprint, "2026-02 2").unwrap();
            writer.finish().unwrap();
            let source = folder.path().join("source.fps");
            build(&source, 3, "2026-03");
            let mut there: BTreeSet<String> = ["2026-01 1", "2026-02 2"].map(String::from).into();

            let server = serve(&path);
            let shared = server.shared();
            let (live, writing) = (&shared.live, shared.writing.as_ref().unwrap());
            fail_points::plan(folder.path(), fails_at, fault);
            let passed = runtime.block_on(async {
                let soon = add(writing, live, vec![record(10, "soon")], 3, false).await;
                if soon.is_ok() {
                    there.insert("soon".into());
                }
                // Earlier additions keep their label.
                let labelled = writing.set_label(live, "2026-04".into()).await;
                let now = add(writing, live, vec![record(11, "now")], 3, true).await;
                if took_place(&now) {
                    there.insert("now".into());
                }
                let expire = |writer: &mut Writer| writer.expire(&Expiry::before("2026-02"));
                let expired = writing.change(live, "nothing was removed", expire).await;
                if took_place(&expired) {
                    there.remove("2026-01 1");
                }
                let found = Arrivals::of(std::slice::from_ref(&source)).unwrap();
                let begin = |writer: &mut Writer| writer.begin_import(found);
                let begun = writing.change(live, "nothing was imported", begin).await;
                refused += u32::from(expired.is_err()) + u32::from(begun.is_err());
                if let Ok((import, _)) = begun
                    && let Ok(copied) = import.copy()
                {
                    let finish = |writer: &mut Writer| writer.finish_import(copied);
                    let done = writing.change(live, "nothing was imported", finish).await;
                    refused += u32::from(done.is_err());
                    if took_place(&done) {
                        there.insert("2026-03 3".into());
                    }
                }
                writing.compact(live, Compaction::All).await.unwrap();
                (fail_points::forget(folder.path()).len() as u64, labelled.is_ok())
            });
            let (passed, is_labelled) = passed;
            let case = format!("{fault:?} at operation {fails_at}");
            // Once the disk works again, everything that was acknowledged is written.
            runtime.block_on(async {
                add(writing, live, vec![record(30, "late")], 3, true).await.unwrap();
                there.insert("late".into());
                server.close().await.unwrap();
            });
            let expected: Vec<String> = there.into_iter().collect();
            assert_eq!(ids_in(&path), expected, "{case}");
            let report =
                fpstore::verify(&path, &fpstore::VerifyOptions::default().samples(3)).unwrap();
            assert!(report.is_sound(), "{case}: {:?}", report.faults);
            let labels = Store::open(&path).unwrap().info().segments;
            let has = labels.iter().any(|segment| segment.label == "2026-04");
            assert_eq!(has, is_labelled, "{case}");
            if passed < fails_at {
                assert!(fails_at > 20, "{case}");
                break;
            }
        }
    }
    assert!(refused > 10, "{refused}");
}
