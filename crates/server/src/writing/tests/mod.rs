//! Lets each disk operation of each change fail once, and compares the store with a model:
//! acknowledged changes took effect, and refused changes did not, unless the answer reports that
//! they did.

mod changes;

use std::collections::BTreeSet;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use tempfile::TempDir;
use tokio::sync::oneshot;

use crate::protocol::failure::Failure;
use crate::state::live_store::LiveStore;
use crate::{ServeSettings, Server, WritingOptions};
use fpstore::writer::{Deleted, IdChange, NewRecord};
use fpstore::{Builder, Fingerprint, IdRef, Store, Writer, WriterOptions};
use fpstore_disk::fail_points::{self, Fault};

use super::Writing;
use super::task::{AddTask, AdditionResult, Answered, IdTask, IdsChanged, Items, Verdict};
use super::writer_thread::{GROUP_COUNT, Task, WriterThread};

fn record(number: u64, id: &str) -> NewRecord {
    // The values of different numbers are far from each other, so no record is near another.
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
            Ok::<(), fpstore::Error>(())
        })
        .unwrap();
    ids.sort();
    ids
}

/// Checks and adds records that are cheap to compare.
async fn add(
    writing: &Writing,
    live: &LiveStore,
    records: Vec<NewRecord>,
    k: u32,
    durable: bool,
) -> Result<AdditionResult, Failure> {
    let items = Items { k, ..cheap(records) };
    writing.add(live, items, durable, deadline()).await.map(added)
}

/// An addition that compares records within 3 bits, which is cheap.
fn cheap(records: Vec<NewRecord>) -> Items {
    Items { records, k: 3, pairs: Default::default(), ahead: None, is_last_try: false }
}

fn added(answered: Answered) -> AdditionResult {
    match answered {
        Answered::Added(added) => added,
        Answered::Behind(_) => panic!("there is nothing to catch up with"),
    }
}

/// Deletes an id.
async fn delete(writing: &Writing, live: &LiveStore, id: &str) -> Result<(Deleted, u64), Failure> {
    writing.change_ids(live, deletion(id), false).await.map(changed)
}

fn deletion(id: &str) -> IdChange {
    IdChange::delete([IdRef::Text(id)])
}

fn changed(changed: IdsChanged) -> (Deleted, u64) {
    match changed {
        IdsChanged::Done(deleted, generation) => (deleted, generation),
        IdsChanged::Behind(_) => panic!("the store has few ids"),
    }
}

/// The ids that the store must contain, and the ids that it must not contain.
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

/// Options of a server that commits only on request or when it ends.
fn options() -> WritingOptions {
    WritingOptions {
        writer: WriterOptions::default().compact(false),
        commit_every: Duration::from_secs(3600),
        merge: false,
    }
}

/// An empty store in a temporary folder.
fn empty_store() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.fps");
    drop(Builder::new(&path).unwrap().finish().unwrap());
    (folder, path)
}

fn serve(path: &Path) -> Server {
    serve_with(path, Some(options()))
}

fn serve_with(path: &Path, writing: Option<WritingOptions>) -> Server {
    let settings = ServeSettings {
        writing,
        refresh: Duration::from_secs(3600),
        warm: None,
        ..ServeSettings::default()
    };
    Server::open(path, settings).unwrap()
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

fn deadline() -> Instant {
    Instant::now() + Duration::from_secs(60)
}

#[test]
fn answers_of_a_writable_server_are_true_whichever_operation_fails() {
    let runtime = runtime();
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
            let server = serve(&path);
            let (shared, mut model) = (server.shared(), Model::default());
            model.note(&["old", "kept"], true);
            let mut is_replaced = false;
            let writing = shared.writing.as_ref().unwrap();
            fail_points::plan(folder.path(), fails_at, fault);
            let passed = runtime.block_on(async {
                let live = &shared.live;
                let soon = vec![record(10, "soon"), record(1, "near old")];
                let answer = add(writing, live, soon, 3, false).await;
                if let Ok(added) = &answer {
                    assert!(matches!(added.verdicts[..], [Verdict::New, Verdict::Near { .. }]));
                }
                // Items answered before their commit stay pending until a commit succeeds.
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
                match add(writing, live, now, 3, true).await {
                    Ok(added) => {
                        assert!(added.durable);
                        model.note(&["now", "now too"], true);
                    }
                    Err(failure) => count(failure.code, &["now", "now too"], true),
                }
                // The commit of this item makes the deletion, too.
                let later = add(writing, live, vec![record(22, "later")], 3, false).await;
                model.note(&["later"], later.is_ok());
                let deleted = delete(writing, live, "old").await;
                if deleted.map_or_else(|failure| failure.code == "in-effect", |_| true) {
                    model.note(&["old"], false);
                }
                let change = IdChange::replace(vec![record(40, "kept")]);
                let replaced = writing.change_ids(live, change, false).await.map(changed);
                is_replaced = match replaced {
                    Ok((done, _)) => {
                        assert_eq!((done.wanted, done.found), (1, 1));
                        true
                    }
                    Err(failure) => failure.code == "in-effect",
                };
                fail_points::forget(folder.path()).len() as u64
            });
            let case = format!("{fault:?} at operation {fails_at}");
            // Once the disk works again, everything that was acknowledged is written.
            runtime.block_on(async {
                let late = vec![record(30, "late")];
                add(writing, &shared.live, late, 3, true).await.unwrap();
                server.close().await.unwrap();
            });
            model.note(&["late"], true);
            let kept = Store::open(&path).unwrap().find_ids(&[IdRef::Text("kept")], None).unwrap();
            let kept: Vec<Fingerprint> = kept[0].iter().map(|it| it.fingerprint).collect();
            let number = if is_replaced { 40 } else { 2 };
            assert_eq!(kept, [record(number, "").fingerprint], "{case}");
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

/// The second item is invalid, so the first is not added either.
#[test]
fn a_request_that_fails_half_way_adds_nothing() {
    let (_folder, path) = empty_store();
    let server = serve(&path);
    let shared = server.shared();
    let (live, writing) = (&shared.live, shared.writing.as_ref().unwrap());
    runtime().block_on(async {
        let kept = add(writing, live, vec![record(1, "kept")], 3, false).await.unwrap();
        assert!(matches!(kept.verdicts[..], [Verdict::New]));
        for bad in [record(3, ""), NewRecord { sketch: [1].into(), ..record(3, "sketched") }] {
            let refused = vec![record(2, "refused"), bad];
            assert!(add(writing, live, refused, 3, true).await.is_err());
        }
        // The first item is not pending either.
        let again = add(writing, live, vec![record(2, "again")], 3, true).await.unwrap();
        assert!(matches!(again.verdicts[..], [Verdict::New]));
        server.close().await.unwrap();
    });
    assert_eq!(ids_in(&path), ["again", "kept"]);
}

/// An item near a pending item is durable once the pending item is: an earlier loss of power
/// removes both.
#[test]
fn what_is_near_a_pending_item_is_durable_only_with_it() {
    let (_folder, path) = empty_store();
    let server = serve(&path);
    let shared = server.shared();
    let (live, writing) = (&shared.live, shared.writing.as_ref().unwrap());
    let near = |bits: u32, id: &str| {
        let value = record(1, id).fingerprint.value() ^ ((1 << bits) - 1);
        vec![NewRecord { fingerprint: Fingerprint::new(value), ..record(1, id) }]
    };
    runtime().block_on(async {
        let add = |items, k, durable| add(writing, live, items, k, durable);
        let first = add(near(0, "first"), 3, false).await.unwrap();
        assert!(matches!(first.verdicts[..], [Verdict::New]) && !first.durable);
        // Pending items are compared within the distance of the request.
        for (bits, k, is_near) in [(3, 3, true), (0, 0, true), (4, 4, true), (4, 3, false)] {
            let answer = add(near(bits, "other"), k, false).await.unwrap();
            assert!(!answer.durable, "{bits} bits, k = {k}");
            match answer.verdicts[..] {
                [Verdict::Near { distance, pending: true, .. }] => {
                    assert!(is_near && distance == bits, "{bits} bits, k = {k}");
                }
                [Verdict::New] => assert!(!is_near, "{bits} bits, k = {k}"),
                _ => panic!("{bits} bits, k = {k}: {answer:?}"),
            }
        }
        assert!(ids_in(&path).is_empty());
        // A request for a durable answer waits, although none of its own items is new.
        let durable = add(near(1, "near"), 3, true).await.unwrap();
        assert!(matches!(durable.verdicts[..], [Verdict::Near { pending: true, .. }]));
        assert!(durable.durable);
        assert_eq!(ids_in(&path), ["first", "other"]);
        // An item near a stored record is durable at once.
        let stored = add(near(1, "late"), 3, false).await.unwrap();
        assert!(matches!(stored.verdicts[..], [Verdict::Near { pending: false, .. }]));
        assert!(stored.durable);
        server.close().await.unwrap();
    });
}

/// Three requests wait before the writer thread takes the first one: two of them fill a group.
#[test]
fn requests_of_one_group_are_answered_by_one_commit() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.fps");
    let before = Builder::new(&path).unwrap().finish().unwrap().info().generation;
    let server = serve_with(&path, None);
    let live = &server.shared().live;
    let writing = Writing::open(&path, options()).unwrap();
    let request = |numbers: Range<usize>| {
        let records = numbers.map(|number| record(number as u64, &number.to_string())).collect();
        let (reply, answer) = oneshot::channel();
        let task = AddTask { items: cheap(records), durable: true, deadline: deadline(), reply };
        assert!(writing.send(live, Task::Add(task)).is_ok());
        answer
    };
    let answers = [(1, GROUP_COUNT), (GROUP_COUNT, GROUP_COUNT + 1), (0, 1)]
        .map(|(start, end)| request(start..end));
    writing.start(live).unwrap();
    let generations = runtime().block_on(async {
        let mut generations = Vec::new();
        for answer in answers {
            let added = added(answer.await.unwrap().unwrap());
            assert!(added.durable);
            assert!(added.verdicts.iter().all(|verdict| matches!(verdict, Verdict::New)));
            generations.push(added.generation);
        }
        writing.end().await.unwrap();
        generations
    });
    assert_eq!(generations, [before + 1, before + 1, before + 2]);
    assert_eq!(live.metrics.commits.load(Relaxed), 2);
    assert_eq!(live.metrics.added.load(Relaxed), GROUP_COUNT as u64 + 1);
    assert_eq!(ids_in(&path).len(), GROUP_COUNT + 1);
}

/// Ten clients change documents at once, one of them in a way that the store refuses, and one adds
/// a record. They share two commits, because one document is replaced and then deleted.
#[test]
fn changes_that_wait_together_share_commits_and_one_that_is_refused_harms_no_other() {
    for has_refused in [false, true] {
        let (_folder, path) = empty_store();
        let mut writer = Writer::open(&path).unwrap();
        for number in 0..8 {
            writer.push_record(&record(number, &format!("page {number}"))).unwrap();
        }
        writer.commit_alone().unwrap();
        drop(writer);
        let server = serve_with(&path, None);
        let live = &server.shared().live;
        let writing = Writing::open(&path, options()).unwrap();
        let mut changes: Vec<IdChange> =
            (0..4).map(|number| deletion(&format!("page {number}"))).collect();
        // Twice, and of an id that nobody has; only counted; replaced, and then deleted.
        changes.extend([deletion("page 0"), deletion("nothing")]);
        changes.push(deletion("page 5").dry_run(true));
        changes.push(IdChange::replace(vec![record(60, "page 6"), record(61, "page 6")]));
        if has_refused {
            let sketched = NewRecord { sketch: [1].into(), ..record(9, "page 7") };
            changes.push(IdChange::replace(vec![sketched]));
        }
        changes.push(deletion("page 6"));
        let (reply, added) = oneshot::channel();
        let items = cheap(vec![record(70, "page 70")]);
        let task = AddTask { items, durable: true, deadline: deadline(), reply };
        assert!(writing.send(live, Task::Add(task)).is_ok());
        let answers: Vec<_> = changes
            .into_iter()
            .map(|change| {
                let (reply, answer) = oneshot::channel();
                let task = IdTask { change, is_last_try: false, reply };
                assert!(writing.send(live, Task::ChangeIds(task)).is_ok());
                answer
            })
            .collect();
        writing.start(live).unwrap();
        let mut found = Vec::new();
        let mut generations = BTreeSet::new();
        runtime().block_on(async {
            assert!(self::added(added.await.unwrap().unwrap()).durable);
            for answer in answers {
                found.push(answer.await.unwrap().map(changed).map(|(deleted, generation)| {
                    generations.insert(generation);
                    deleted.found
                }));
            }
            writing.end().await.unwrap();
        });
        if has_refused {
            let refused = found.remove(8).unwrap_err();
            assert!(refused.message.contains("sketch"), "{}", refused.message);
        } else {
            assert_eq!((generations.len(), live.metrics.commits.load(Relaxed)), (2, 2));
        }
        let found: Vec<u64> = found.into_iter().map(Result::unwrap).collect();
        assert_eq!(found, [1, 1, 1, 1, 0, 0, 1, 1, 1]);
        assert_eq!(ids_in(&path), ["page 4", "page 5", "page 7", "page 70"]);
    }
}

/// Deletes items that were answered before they were durable, while commits fail; then the disk
/// works again, and the server ends and starts.
#[test]
fn an_acknowledged_deletion_of_pending_items_holds_whichever_operation_fails() {
    let runtime = runtime();
    let mut refused = 0;
    for fault in [Fault::Full, Fault::Broken] {
        for fails_at in 1.. {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("store.fps");
            drop(Builder::new(&path).unwrap().finish().unwrap());
            let server = serve(&path);
            let (shared, mut model) = (server.shared(), Model::default());
            let (live, writing) = (&shared.live, shared.writing.as_ref().unwrap());
            let passed = runtime.block_on(async {
                let soon = vec![record(10, "soon"), record(11, "stays")];
                add(writing, live, soon, 3, false).await.unwrap();
                model.note(&["soon", "stays"], true);
                fail_points::plan(folder.path(), fails_at, fault);
                let deleted = delete(writing, live, "soon").await;
                match &deleted {
                    Ok((deleted, _)) => assert_eq!(deleted.found, 1),
                    Err(failure) if failure.code == "in-effect" => {}
                    Err(_) => refused += 1,
                }
                let is_gone = deleted.map_or_else(|failure| failure.code == "in-effect", |_| true);
                model.note(&["soon"], !is_gone);
                fail_points::forget(folder.path()).len() as u64
            });
            let case = format!("{fault:?} at operation {fails_at}");
            runtime.block_on(async { server.close().await.unwrap() });
            drop((server, shared));
            let expected: Vec<String> = model.there.iter().map(|id| (*id).into()).collect();
            assert_eq!(ids_in(&path), expected, "{case}");
            // A new server finds the same records.
            let server = serve(&path);
            let shared = server.shared();
            let writing = shared.writing.as_ref().unwrap();
            runtime.block_on(async {
                let asked = vec![record(10, "soon"), record(11, "stays")];
                let again = add(writing, &shared.live, asked, 3, true).await.unwrap();
                let is_new = matches!(again.verdicts[0], Verdict::New);
                assert_eq!(is_new, model.gone.contains("soon"), "{case}");
                assert!(matches!(again.verdicts[1], Verdict::Near { .. }), "{case}");
                server.close().await.unwrap();
            });
            if passed < fails_at {
                assert!(fails_at > 10, "{case}");
                break;
            }
        }
    }
    assert!(refused > 10, "{refused}");
}

/// While the disk accepts no changes, the server reports it, refuses additions that it could not
/// store, and continues automatically once the disk works.
#[test]
fn while_commits_fail_readiness_says_why_and_the_server_recovers_by_itself() {
    let (folder, path) = empty_store();
    let server = serve(&path);
    let shared = server.shared();
    let (live, writing) = (&shared.live, shared.writing.as_ref().unwrap());
    let fault = || live.health.fault().or_else(|| live.health.writing_fault());
    let code = || fault().map(|(code, _)| code);
    let gauge = || live.metrics_text(0, 0).contains("\nfpstore_commits_failing 1\n");
    let begun = || code() != Some("warming");
    runtime().block_on(async {
        let add = |number, durable| {
            let items = vec![record(number, &number.to_string())];
            add(writing, live, items, 3, durable)
        };
        while !begun() {
            tokio::task::yield_now().await;
        }
        assert!(code().is_none() && !gauge());
        assert!(!add(1, false).await.unwrap().durable);
        fail_points::plan(folder.path(), 1, Fault::Broken);
        assert_eq!(add(2, true).await.unwrap_err().code, "not-written");
        assert_eq!(code(), Some("commits-failing"));
        assert!(fault().unwrap().1.contains("cannot ") && gauge());
        assert!(live.fault().is_none(), "queries are answered");
        // The store cannot even be opened again.
        let refused = add(3, false).await.unwrap_err();
        assert_eq!((refused.status.as_u16(), refused.code), (503, "not-written"));
        assert!(refused.message.contains("cannot "), "{}", refused.message);
        assert_eq!(live.metrics.pending.load(Relaxed), 1);
        fail_points::forget(folder.path());
        // No change is requested meanwhile.
        while code().is_some() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        assert_eq!((ids_in(&path), gauge()), (vec!["1".to_string()], false));
        // The server recovers also if nothing is pending.
        fail_points::plan(folder.path(), 1, Fault::Broken);
        assert!(delete(writing, live, "1").await.is_err());
        assert_eq!(code(), Some("commits-failing"));
        fail_points::forget(folder.path());
        while code().is_some() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        assert!(!add(4, false).await.unwrap().durable);
        server.close().await.unwrap();
    });
    assert_eq!(ids_in(&path), ["1", "4"]);
}

/// A server that ends while commits fail loses the items that it answered before, and reports their
/// number.
#[test]
fn an_end_that_loses_items_is_an_error_that_counts_them() {
    let (folder, path) = empty_store();
    let server = serve(&path);
    let shared = server.shared();
    let writing = shared.writing.as_ref().unwrap();
    runtime().block_on(async {
        let items = vec![record(1, "a"), record(2, "b")];
        add(writing, &shared.live, items, 3, false).await.unwrap();
        fail_points::plan(folder.path(), 1, Fault::Broken);
        let ended = server.close().await.unwrap_err();
        fail_points::forget(folder.path());
        let why = fpstore_base::chain(&ended);
        assert!(why.contains("2 items that were answered") && why.contains("lost"), "{why}");
    });
    assert!(ids_in(&path).is_empty());
}

/// The commit before a deletion fails, and the disk works again at once, before another attempt.
#[test]
fn what_would_not_be_durable_is_refused_until_a_commit_succeeds() {
    let (folder, path) = empty_store();
    let server = serve_with(&path, None);
    let live = &server.shared().live;
    let writing = Writing::open(&path, options()).unwrap();
    let add = |number: u64, durable| {
        let items = cheap(vec![record(number, &number.to_string())]);
        let (reply, answer) = oneshot::channel();
        let task = AddTask { items, durable, deadline: deadline(), reply };
        assert!(writing.send(live, Task::Add(task)).is_ok());
        answer
    };
    // All requests are in one group, so no time passes between them.
    let (pending, deleted) = (add(1, false), {
        let (reply, answer) = oneshot::channel();
        let change = move |thread: &mut WriterThread| {
            let deleted = |writer: &mut Writer| writer.delete_ids([IdRef::Text("1")]);
            let _ = reply.send(thread.change("nothing was deleted", deleted));
        };
        assert!(writing.send(live, Task::Change(Box::new(change))).is_ok());
        answer
    });
    let (refused, known) = (add(2, false), add(1, false));
    fail_points::plan(folder.path(), 1, Fault::Full);
    writing.start(live).unwrap();
    runtime().block_on(async {
        assert!(!added(pending.await.unwrap().unwrap()).durable);
        let deleted = deleted.await.unwrap().unwrap_err();
        assert_eq!((deleted.status.as_u16(), deleted.code), (503, "commits-failing"));
        assert!(deleted.message.contains("nothing was deleted"), "{}", deleted.message);
        for refused in [refused, known] {
            assert_eq!(refused.await.unwrap().map(added).unwrap_err().code, "commits-failing");
        }
        // A request that waits for the commit triggers an attempt.
        assert!(added(add(3, true).await.unwrap().unwrap()).durable);
        assert!(!added(add(4, false).await.unwrap().unwrap()).durable);
        writing.end().await.unwrap();
    });
    fail_points::forget(folder.path());
    assert_eq!(ids_in(&path), ["1", "3", "4"]);
}
