//! Tests streams of records: answered records are durable, and several processes can write to one
//! store.

use std::io::{BufRead, BufReader, Lines, Write};
use std::process::{Child, ChildStdin, ChildStdout};

use crate::common::Random;
use crate::common::program::{TestDir, text};

fn dir() -> TestDir {
    let dir = TestDir::with("pages.tsv", "00000000000000ff\ta\nff00000000000000\tb\n");
    dir.ok(&["build", "pages.tsv", "-s", "pages.fps", "-q"], "");
    dir
}

fn dump(dir: &TestDir) -> String {
    dir.ok(&["dump", "-s", "pages.fps"], "")
}

/// A running `dedup --add -`, which answers each line.
struct Answerer {
    child: Child,
    input: Option<ChildStdin>,
    answers: Lines<BufReader<ChildStdout>>,
}

impl Answerer {
    fn start(dir: &TestDir, args: &[&str]) -> Self {
        let mut child = dir.command(args).spawn().unwrap();
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

    /// Closes the output of the process, and sends lines until it ends. Returns its status and its
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

    fn finish(self) {
        assert_eq!(self.status(), Some(0));
    }

    fn status(mut self) -> Option<i32> {
        drop(self.input.take());
        self.child.wait().unwrap().code()
    }
}

const DEDUP: [&str; 5] = ["dedup", "-s", "pages.fps", "--add", "-"];

#[test]
fn answered_records_are_kept_when_the_reader_goes_away() {
    let dir = dir();
    let batch = ["--batch-count", "100000", "--batch-seconds", "1000"];
    let mut stream = Answerer::start(&dir, &[&DEDUP[..], &batch].concat());
    let mut random = Random::new(1);
    let records: Vec<u64> = (0..300).map(|_| random.next()).collect();
    for record in &records {
        let answer = stream.ask(&format!("{record:016x}\tearly"));
        assert_eq!(answer, format!("new\t{record:016x}\tearly"));
    }
    let (status, err) = stream.leave();
    assert_eq!(status, Some(2), "{err}");
    assert!(err.contains("standard output was closed"), "{err}");
    let stored = dump(&dir);
    for record in records {
        assert!(stored.contains(&format!("{record:016x}\tearly\n")), "{record:016x}");
    }
}

#[test]
fn a_followed_stream_without_a_reader_is_no_success() {
    let dir = dir();
    let follow = ["add", "--follow", "-s", "pages.fps", "--batch-count", "1"];
    let mut stream = Answerer::start(&dir, &follow);
    assert!(stream.ask("000000000000000f\tearly").starts_with("1\t"));
    let (status, err) = stream.leave();
    assert_eq!(status, Some(2), "{err}");
    assert!(err.contains("standard output was closed") && err.contains("added"), "{err}");
    assert!(dump(&dir).contains("000000000000000f\tearly\n"));
}

#[test]
fn others_write_between_the_batches_of_a_stream_which_sees_what_they_wrote() {
    let dir = dir();
    let mut dedup = Answerer::start(&dir, &[&DEDUP[..], &["--batch-count", "1"]].concat());
    let mut follow =
        Answerer::start(&dir, &["add", "--follow", "-s", "pages.fps", "--batch-count", "1"]);
    for number in 0..20_u64 {
        // The records are not near each other or stored records. A stream releases the lock only
        // just after its answer, so the other streams may have to wait.
        let record = (number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        if number % 2 == 0 {
            follow.ask(&format!("{record:016x}\tother"));
        } else {
            dir.ok(&["add", "-s", "pages.fps", "-q", "--wait"], &format!("{record:016x}\tother\n"));
        }
        let near = record ^ 1;
        assert_eq!(
            dedup.ask(&format!("{near:016x}\tmine")),
            format!("near\t{near:016x}\tmine\t{record:016x}\t1\tother")
        );
    }
    assert_eq!(dedup.ask("0123456789abcdef\tmine"), "new\t0123456789abcdef\tmine");
    dir.ok(&["delete", "--id", "mine", "-s", "pages.fps", "--wait"], "");
    assert_eq!(dedup.ask("0123456789abcdef\tagain"), "new\t0123456789abcdef\tagain");
    dir.ok(&["compact", "--all", "-s", "pages.fps", "--wait", "-q"], "");
    dedup.finish();
    follow.finish();
    assert!(dump(&dir).contains("0123456789abcdef\tagain\n"));
}

/// Each record is sent to two streams, and exactly one answers 'new'.
#[test]
fn two_streams_of_one_store_agree_on_what_is_new() {
    let dir = dir();
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
    let one = ask(Answerer::start(&dir, &args), records.clone());
    let other = ask(Answerer::start(&dir, &args), records.clone());
    let (one, other) = (one.join().unwrap(), other.join().unwrap());
    for (at, (one, other)) in one.into_iter().zip(other).enumerate() {
        assert!(one != other, "record {at} was new for both streams or for none");
    }
    assert_eq!(dump(&dir).lines().count(), 2 + records.len());
}

#[test]
fn queries_see_what_others_add_if_they_ask_for_it() {
    let dir = dir();
    let query = ["query", "-", "-s", "pages.fps", "--format", "json"];
    let mut fixed = Answerer::start(&dir, &query);
    let mut fresh = Answerer::start(&dir, &[&query[..], &["--refresh"]].concat());
    let none = "{\"query\":\"0123456789abcdef\",\"matches\":[]}";
    assert_eq!(fixed.ask("0123456789abcdef"), none);
    assert_eq!(fresh.ask("0123456789abcdef"), none);
    dir.ok(&["add", "-s", "pages.fps", "-q"], "0123456789abcdef\tadded\n");
    assert_eq!(fixed.ask("0123456789abcdef"), none);
    assert!(fresh.ask("0123456789abcdef").contains("added"));
    drop(fixed.input.take());
    fixed.child.wait().unwrap();
    fresh.finish();
}

const TEXT: &str = "the quick brown fox jumps over the lazy dog and runs away";

fn document(id: &str, text: &str) -> String {
    format!("{{\"id\":\"{id}\",\"text\":\"{text}\"}}")
}

/// The test sends a line only after the answer to the line before, so it would never end if answers
/// were delayed.
#[test]
fn documents_are_answered_line_by_line_and_bad_ones_end_nothing() {
    let first = document("first", "something that is like nothing else");
    let dir = TestDir::with("first.jsonl", &first);
    dir.ok(&["build", "--docs", "first.jsonl", "-s", "pages.fps", "-q", "--sketch"], "");
    let mut hashing = Answerer::start(&dir, &["fingerprint", "--format", "json", "-q"]);
    let hashed = hashing.ask(&document("a", TEXT));
    let value = hashed.split('"').nth(7).unwrap().to_string();
    assert_eq!(hashed, format!("{{\"id\":\"a\",\"fingerprint\":\"{value}\"}}"));
    let none = "{\"id\":\"b\",\"fingerprint\":null}";
    assert_eq!(hashing.ask(&document("b", " ")), none);
    let bad = hashing.ask("{\"id\":\"c\"");
    assert!(bad.starts_with("{\"place\":\"line 3\",\"error\":\""), "{bad}");
    assert_eq!(hashing.ask(&document("a", TEXT)), hashed);
    assert_eq!(hashing.status(), Some(2));

    let args = [&DEDUP[..], &["--docs", "--batch-seconds", "1000"]].concat();
    let mut dedup = Answerer::start(&dir, &args);
    assert_eq!(dedup.ask(&document("a", TEXT)), format!("new\t{value}\ta"));
    assert_eq!(dedup.ask(&document("b", "")), "empty\t\tb");
    assert!(dedup.ask("{}").starts_with("bad\t\tline 3: "));
    assert_eq!(dedup.ask(&document("c", TEXT)), format!("near\t{value}\tc\t{value}\t0\ta"));
    let other = dedup.ask(&document("d", "something that is like nothing else"));
    assert!(other.starts_with("near\t") && other.ends_with("\t0\tfirst"), "{other}");
    assert_eq!(dedup.status(), Some(2));

    let follow = ["add", "--follow", "--docs", "-s", "pages.fps", "--batch-count", "1"];
    let mut follow = Answerer::start(&dir, &[&follow[..], &["--skip-bad"]].concat());
    assert!(follow.ask(&document("e", TEXT)).starts_with("1\t"));
    follow.send("no document");
    follow.send(&document("none", ""));
    assert!(follow.ask(&document("f", TEXT)).starts_with("2\t"));
    follow.finish();
    let stored = dump(&dir);
    for id in ["first", "a", "e", "f"] {
        assert_eq!(stored.matches(&format!("\t{id}\n")).count(), 1, "{id}: {stored}");
    }
    assert_eq!(stored.lines().count(), 4);
}

#[test]
fn bad_lines_have_their_answers_and_the_status_tells() {
    let dir = dir();
    let query = ["query", "-", "-s", "pages.fps", "-k", "0", "--format", "json"];
    let mut asking = Answerer::start(&dir, &query);
    assert!(asking.ask("00ff").contains("\"ids\":[\"a\"]"));
    let bad = asking.ask("zz");
    assert!(bad.starts_with("{\"place\":\"line 2\",\"error\":\"'zz' is not a fing"), "{bad}");
    assert!(asking.ask("00fe").contains("\"matches\":[]"));
    assert_eq!(asking.status(), Some(2));
    let mut allowed = Answerer::start(&dir, &[&query[..], &["--skip-bad"]].concat());
    allowed.ask("zz");
    assert!(allowed.ask("00ff").contains("\"ids\":[\"a\"]"));
    allowed.finish();
    let mut dedup = Answerer::start(&dir, &DEDUP);
    assert_eq!(dedup.ask("0f0f0f0f0f0f0f0f\tc"), "new\t0f0f0f0f0f0f0f0f\tc");
    assert!(dedup.ask("0f0f0f0f0f0f0f0f0f\tc").starts_with("bad\t\tline 2: "));
    assert!(dedup.ask("0f0f0f0f0f0f0f0f\td").starts_with("near\t"));
    assert_eq!(dedup.status(), Some(2));
    assert_eq!(dump(&dir).lines().count(), 3);
}

#[test]
fn fingerprints_go_to_a_file_that_is_whole_or_absent() {
    let dir = TestDir::with("docs.jsonl", &(document("a", TEXT) + "\nno document\n"));
    let json = ["fingerprint", "docs.jsonl", "--format", "json", "-q", "-o", "out.json"];
    dir.run(&json, 2);
    assert!(!dir.path("out.json").exists());
    dir.run(&[&json[..], &["--skip-bad"]].concat(), 0);
    let lines = dir.read("out.json");
    assert_eq!(lines.lines().count(), 2, "{lines}");
    let (_, err) = dir.run(&[&json[..], &["--skip-bad"]].concat(), 2);
    assert!(err.contains("to replace it once the new one is complete, use --force"), "{err}");
    let help = dir.ok(&["help", "-h"], "");
    let help = help.replace("fpstore.exe", "fpstore");
    assert!(help.contains("Usage: fpstore help [COMMAND]"), "{help}");
}
