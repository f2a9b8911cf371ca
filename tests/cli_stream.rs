//! Streams of records: what was answered is kept, and several processes share a store.

use std::io::{BufRead, BufReader, Lines, Write};
use std::process::{Child, ChildStdin, ChildStdout};

use crate::common::Random;
use crate::common::program::{Desk, text};

fn desk() -> Desk {
    let desk = Desk::with("pages.tsv", "00ff\ta\nff00000000000000\tb\n");
    desk.ok(&["build", "pages.tsv", "-s", "pages.fps", "-q"], "");
    desk
}

fn dump(desk: &Desk) -> String {
    desk.ok(&["dump", "-s", "pages.fps"], "")
}

/// A process that answers line by line.
struct Answerer {
    child: Child,
    input: Option<ChildStdin>,
    answers: Lines<BufReader<ChildStdout>>,
}

impl Answerer {
    fn start(desk: &Desk, args: &[&str]) -> Self {
        let mut child = desk.command(args).spawn().unwrap();
        let input = child.stdin.take();
        let answers = BufReader::new(child.stdout.take().unwrap()).lines();
        Answerer { child, input, answers }
    }

    fn send(&mut self, line: &str) {
        writeln!(self.input.as_mut().unwrap(), "{line}").unwrap();
    }

    fn ask(&mut self, line: &str) -> String {
        self.send(line);
        self.answers.next().unwrap().unwrap()
    }

    /// Reads no more answers, and sends lines until the process ends. Returns its status and
    /// messages.
    fn leave(self) -> (Option<i32>, String) {
        let Answerer { mut child, input, answers } = self;
        drop(answers);
        let mut input = input.unwrap();
        let mut random = Random::new(9);
        while child.try_wait().unwrap().is_none() {
            let _ = writeln!(input, "{:016x}\tlate", random.next());
        }
        let output = child.wait_with_output().unwrap();
        (output.status.code(), text(output.stderr))
    }

    fn finish(mut self) {
        drop(self.input.take());
        assert!(self.child.wait().unwrap().success());
    }
}

const DEDUP: [&str; 5] = ["dedup", "--against", "pages.fps", "--add", "-"];

#[test]
fn answered_records_are_kept_when_the_reader_goes_away() {
    let desk = desk();
    let batch = ["--batch-count", "100000", "--batch-seconds", "1000"];
    let mut stream = Answerer::start(&desk, &[&DEDUP[..], &batch].concat());
    let mut random = Random::new(1);
    let records: Vec<u64> = (0..300).map(|_| random.next()).collect();
    for record in &records {
        let answer = stream.ask(&format!("{record:016x}\tearly"));
        assert_eq!(answer, format!("new\t{record:016x}\tearly"));
    }
    let (status, err) = stream.leave();
    assert_eq!(status, Some(2), "{err}");
    assert!(err.contains("standard output was closed"), "{err}");
    let stored = dump(&desk);
    for record in records {
        assert!(stored.contains(&format!("{record:016x}\tearly\n")), "{record:016x}");
    }
}

#[test]
fn a_followed_stream_without_a_reader_is_no_success() {
    let desk = desk();
    let follow = ["add", "--follow", "-s", "pages.fps", "--batch-count", "1"];
    let mut stream = Answerer::start(&desk, &follow);
    assert!(stream.ask("0f\tearly").starts_with("1\t"));
    let (status, err) = stream.leave();
    assert_eq!(status, Some(2), "{err}");
    assert!(err.contains("standard output was closed") && err.contains("added"), "{err}");
    assert!(dump(&desk).contains("000000000000000f\tearly\n"));
}

#[test]
fn others_write_between_the_batches_of_a_stream_which_sees_what_they_wrote() {
    let desk = desk();
    let mut dedup = Answerer::start(&desk, &[&DEDUP[..], &["--batch-count", "1"]].concat());
    let mut follow =
        Answerer::start(&desk, &["add", "--follow", "-s", "pages.fps", "--batch-count", "1"]);
    for number in 0..20_u64 {
        // Far from one another and from what is stored. A stream ends its turn just after its
        // answer, so the others wait for theirs.
        let record = (number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        if number % 2 == 0 {
            follow.ask(&format!("{record:016x}\tother"));
        } else {
            desk.ok(
                &["add", "-s", "pages.fps", "-q", "--wait"],
                &format!("{record:016x}\tother\n"),
            );
        }
        let near = record ^ 1;
        assert_eq!(
            dedup.ask(&format!("{near:016x}\tmine")),
            format!("near\t{near:016x}\tmine\t{record:016x}\t1\tother")
        );
    }
    assert_eq!(dedup.ask("0123456789abcdef\tmine"), "new\t0123456789abcdef\tmine");
    desk.ok(&["delete", "--id", "mine", "-s", "pages.fps", "--wait"], "");
    assert_eq!(dedup.ask("0123456789abcdef\tagain"), "new\t0123456789abcdef\tagain");
    desk.ok(&["compact", "--all", "-s", "pages.fps", "--wait", "-q"], "");
    dedup.finish();
    follow.finish();
    assert!(dump(&desk).contains("0123456789abcdef\tagain\n"));
}

/// Each record goes to both streams, and is new for exactly one of them.
#[test]
fn two_streams_of_one_store_agree_on_what_is_new() {
    let desk = desk();
    let args = [&DEDUP[..], &["--batch-count", "2", "--batch-seconds", "0.01"]].concat();
    let mut random = Random::new(2);
    let records: Vec<u64> = (0..60).map(|_| random.next()).collect();
    let ask = |mut stream: Answerer, records: Vec<u64>| {
        std::thread::spawn(move || {
            let is_new = |record: &u64| stream.ask(&format!("{record:016x}")).starts_with("new");
            let new: Vec<bool> = records.iter().map(is_new).collect();
            stream.finish();
            new
        })
    };
    let one = ask(Answerer::start(&desk, &args), records.clone());
    let other = ask(Answerer::start(&desk, &args), records.clone());
    let (one, other) = (one.join().unwrap(), other.join().unwrap());
    for (at, (one, other)) in one.into_iter().zip(other).enumerate() {
        assert!(one != other, "record {at} was new for both streams or for none");
    }
    assert_eq!(dump(&desk).lines().count(), 2 + records.len());
}

#[test]
fn queries_see_what_others_add_if_they_ask_for_it() {
    let desk = desk();
    let query = ["query", "-", "-s", "pages.fps", "--format", "json"];
    let mut fixed = Answerer::start(&desk, &query);
    let mut fresh = Answerer::start(&desk, &[&query[..], &["--refresh"]].concat());
    let none = "{\"query\":\"0123456789abcdef\",\"matches\":[]}";
    assert_eq!(fixed.ask("0123456789abcdef"), none);
    assert_eq!(fresh.ask("0123456789abcdef"), none);
    desk.ok(&["add", "-s", "pages.fps", "-q"], "0123456789abcdef\tadded\n");
    assert_eq!(fixed.ask("0123456789abcdef"), none);
    assert!(fresh.ask("0123456789abcdef").contains("added"));
    drop(fixed.input.take());
    fixed.child.wait().unwrap();
    fresh.finish();
}
