//! Each operation of each change fails once, beside a model: what was acknowledged is there, and what was
//! refused is not, or the answer says that it is.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::disk::fail_points::{self, Fault};
use crate::serve::{ServeSettings, Server, WritingOptions};
use crate::writing::writer::{NewRecord, WriterOptions};
use crate::{Builder, Fingerprint, IdRef, Store};

use super::task::Verdict;

fn record(number: u64, id: &str) -> NewRecord {
    // Far from each other.
    let value = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    NewRecord::new(Fingerprint::new(value), Some(IdRef::Text(id).to_id()))
}

fn ids_in(path: &Path) -> Vec<String> {
    let mut ids = Vec::new();
    Store::open(path)
        .unwrap()
        .for_each(|hit| {
            for id in hit.ids() {
                ids.push(id?.to_string());
            }
            Ok::<(), crate::Error>(())
        })
        .unwrap();
    ids.sort();
    ids
}

/// What the model expects of an id at the end.
#[derive(Default)]
struct Model {
    there: BTreeSet<&'static str>,
    gone: BTreeSet<&'static str>,
}

impl Model {
    fn note(&mut self, ids: &[&'static str], is_there: bool) {
        let (to, from) = match is_there {
            true => (&mut self.there, &mut self.gone),
            false => (&mut self.gone, &mut self.there),
        };
        for id in ids {
            to.insert(id);
            from.remove(id);
        }
    }
}

#[test]
fn answers_of_a_writable_server_are_true_whichever_operation_fails() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (mut refused, mut in_effect) = (0, 0);
    for fault in [Fault::Full, Fault::Broken] {
        for fails_at in 1.. {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("store.fps");
            let mut builder = Builder::new(&path).unwrap();
            for (number, id) in [(1, "old"), (2, "kept")] {
                let record = record(number, id);
                builder.push(record.fingerprint, IdRef::Text(id)).unwrap();
            }
            builder.finish().unwrap();
            let writing = WritingOptions {
                writer: WriterOptions::default().compact(false),
                commit_every: Duration::from_secs(3600),
                merge: false,
            };
            let settings = ServeSettings {
                writing: Some(writing),
                refresh: Duration::from_secs(3600),
                warm: None,
                ..ServeSettings::default()
            };
            let server = Server::open(&path, settings).unwrap();
            let (shared, mut model) = (server.shared(), Model::default());
            model.note(&["old", "kept"], true);
            let writing = shared.writing.as_ref().unwrap();
            let deadline = || Instant::now() + Duration::from_secs(60);
            fail_points::plan(folder.path(), fails_at, fault);
            let passed = runtime.block_on(async {
                let live = &shared.live;
                let soon = vec![record(10, "soon"), record(1, "near old")];
                let answer = writing.add(live, soon, 3, false, deadline()).await;
                if let Ok(added) = &answer {
                    assert!(matches!(added.verdicts[..], [Verdict::New, Verdict::Near { .. }]));
                }
                // What is answered before its commit is remembered until one succeeds.
                model.note(&["soon"], answer.is_ok());
                let mut count = |code: &str, ids: &[&'static str], is_there: bool| match code {
                    "in-effect" => {
                        in_effect += 1;
                        model.note(ids, is_there);
                    }
                    _ => {
                        refused += 1;
                        model.note(ids, !is_there);
                    }
                };
                let now = vec![record(20, "now"), record(21, "now too")];
                match writing.add(live, now, 3, true, deadline()).await {
                    Ok(added) => {
                        assert!(added.durable);
                        model.note(&["now", "now too"], true);
                    }
                    Err(failure) => count(failure.code, &["now", "now too"], true),
                }
                let deleted = writing.delete(live, vec!["old".into()]).await;
                if deleted.map_or_else(|failure| failure.code == "in-effect", |_| true) {
                    model.note(&["old"], false);
                }
                fail_points::forget(folder.path()).len() as u64
            });
            let case = format!("{fault:?} at operation {fails_at}");
            // With a sound disk everything that was acknowledged is written.
            runtime.block_on(async {
                let late = vec![record(30, "late")];
                writing.add(&shared.live, late, 3, true, deadline()).await.unwrap();
                server.close().await.unwrap();
            });
            model.note(&["late"], true);
            let found = ids_in(&path);
            let expected: Vec<String> = model.there.iter().map(|id| (*id).into()).collect();
            assert_eq!(found, expected, "{case}");
            if passed < fails_at {
                assert!(fails_at > 20, "{case}");
                break;
            }
        }
    }
    assert!(refused > 10 && in_effect >= 2, "{refused} refused, {in_effect} in effect");
}
