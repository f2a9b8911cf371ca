//! Tests the output, exit statuses and messages of the commands that make, search and inspect a
//! store.

use std::fs;
use std::io::Write;
#[cfg(target_os = "linux")]
use std::process::Stdio;

use serde_json::Value;

use crate::common::program::{TestDir, names_in, program, text};

const INPUT: &str = "\
# comment
0123456789abcdef\ta.html
0x0123456789ABCDEE,b, with comma

fedcba9876543210:17
0123456789abcdef   second\r
ffffffffffffffff
";

/// A folder that contains `input.tsv`.
fn dir() -> TestDir {
    TestDir::with("input.tsv", INPUT)
}

#[test]
fn build_and_query_work_with_nothing_else_said() {
    let dir = dir();
    let (out, err) = dir.run(&["build", "input.tsv"], 0);
    assert_eq!(out, "");
    assert!(err.contains("5 records, 4 fingerprints, 4 ids"), "{err}");
    dir.assert_files(&["input.tsv", "store.fps"]);
    let (out, _) = dir.run(&["query", "0123456789abcdef"], 0);
    assert_eq!(
        out,
        "0123456789abcdef\t0123456789abcdef\t0\ta.html\n\
         0123456789abcdef\t0123456789abcdef\t0\tsecond\n\
         0123456789abcdef\t0123456789abcdee\t1\tb, with comma\n"
    );
    let (out, _) = dir.run(&["query", "-k", "0", "0xFFFFFFFFFFFFFFFF", "1"], 0);
    assert_eq!(out, "ffffffffffffffff\tffffffffffffffff\t0\t\n");
    let (out, err) = dir.run(&["query", "00000000ffffffff"], 1);
    assert_eq!((out, err), (String::new(), String::new()));
}

#[test]
fn json_has_one_object_a_query() {
    let dir = dir();
    dir.run(&["build", "input.tsv"], 0);
    let (out, _) = dir.run(&["query", "--format", "json", "0123456789abcdef", "5"], 0);
    let lines: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 2);
    assert_eq!(
        out.lines().next().unwrap(),
        "{\"query\":\"0123456789abcdef\",\"matches\":[\
         {\"fingerprint\":\"0123456789abcdef\",\"distance\":0,\"ids\":[\"a.html\",\"second\"]},\
         {\"fingerprint\":\"0123456789abcdee\",\"distance\":1,\"ids\":[\"b, with comma\"]}]}"
    );
    assert_eq!(out.lines().nth(1).unwrap(), "{\"query\":\"0000000000000005\",\"matches\":[]}");
}

#[test]
fn a_cut_answer_says_so() {
    let dir = dir();
    dir.run(&["build", "input.tsv"], 0);
    let (out, err) = dir.run(&["query", "--limit", "1", "0123456789abcdef"], 0);
    assert_eq!(out.lines().count(), 2);
    assert!(err.contains("cut"), "{err}");
    let json = ["query", "--limit", "1", "0123456789abcdef", "--format", "json"];
    let (out, err) = dir.run(&json, 0);
    assert!(out.ends_with(",\"cut\":true}\n"), "{out}");
    assert_eq!(err, "");
    let (_, err) = dir.run(&["query", "--limit", "2", "0123456789abcdef"], 0);
    assert_eq!(err, "");
}

#[test]
fn queries_come_from_standard_input_too() {
    let dir = dir();
    dir.run(&["build", "input.tsv"], 0);
    let (out, _) = dir.run_on(&["query", "-k1", "-"], "fedcba9876543211 new\n# no\n\n7\n", 0);
    assert_eq!(out, "fedcba9876543211\tfedcba9876543210\t1\t17\n");
    let (_, err) = dir.run_on(&["query", "-"], "7\nxyz\n", 2);
    assert!(err.contains("standard input: line 2: 'xyz' is not a fingerprint"), "{err}");
}

#[test]
fn explain_says_tables_radii_and_work() {
    let dir = dir();
    dir.run(&["build", "input.tsv"], 0);
    let (_, err) = dir.run(&["query", "--explain", "0123456789abcdef"], 0);
    for part in ["k=3", "probes (", "candidates (", "us (", "expected", "pages"] {
        assert!(err.contains(part), "{part}: {err}");
    }
    let (_, err) = dir.run(&["query", "--explain", "-k", "60", "5"], 0);
    assert!(err.contains("scan of table 0"), "{err}");
}

#[test]
fn the_store_is_found_by_option_then_environment_then_name() {
    let dir = dir();
    dir.run(&["build", "input.tsv", "-s", "one.fps", "-q"], 0);
    let (_, err) = dir.run(&["query", "5"], 2);
    assert!(err.contains("there is no store at store.fps"), "{err}");
    assert!(err.contains("fpstore build"), "{err}");
    let mut query = dir.command(&["query", "ffffffffffffffff"]);
    assert!(query.env("FPSTORE", dir.path("one.fps")).output().unwrap().status.success());
    dir.run(&["query", "--store", "one.fps", "ffffffffffffffff"], 0);
}

#[test]
fn an_existing_store_is_replaced_only_by_force_and_never_harmed() {
    let dir = dir();
    dir.run(&["build", "input.tsv"], 0);
    let before = names_in(&dir.path("store.fps"));
    let (_, err) = dir.run(&["build", "input.tsv"], 2);
    assert!(err.contains("there is a store at store.fps already"), "{err}");
    assert!(err.contains("--force"), "{err}");

    dir.write("bad.tsv", "1\n2\nxyz\n");
    let (_, err) = dir.run(&["build", "bad.tsv", "--force"], 2);
    assert!(err.contains("bad.tsv: line 3: 'xyz' is not a fingerprint: digit 1 is 'x'"), "{err}");
    assert_eq!(names_in(&dir.path("store.fps")), before);
    dir.run(&["query", "0123456789abcdef"], 0);

    dir.write("other.tsv", "0000000000000007 x\n");
    dir.run(&["build", "other.tsv", "--force"], 0);
    dir.run(&["query", "7"], 0);
    dir.run(&["query", "0123456789abcdef"], 1);
    dir.run(&["verify"], 0);
    let after = names_in(&dir.path("store.fps"));
    assert_eq!(after, ["MANIFEST", "segment-0000000000000002.fps"]);
}

#[test]
fn what_is_no_store_is_never_replaced() {
    let dir = dir();
    fs::create_dir(dir.path("photos")).unwrap();
    dir.write("photos/cat.jpg", "cat");
    for target in ["photos", "input.tsv"] {
        let (_, err) = dir.run(&["build", "input.tsv", "-s", target, "--force"], 2);
        assert!(err.contains("is not a store"), "{err}");
    }
    assert_eq!(names_in(&dir.path("photos")), ["cat.jpg"]);
    fs::create_dir(dir.path("empty")).unwrap();
    dir.run(&["build", "input.tsv", "-s", "empty"], 0);
    // A folder that cannot be renamed, such as a mount point, is filled in place.
    let here = dir.path("here");
    fs::create_dir(&here).unwrap();
    let mut build = program(&["build", "../input.tsv", "-s", ".", "-q"], &here);
    assert!(build.status().unwrap().success());
    dir.run(&["verify", "-s", "here"], 0);
}

#[test]
fn bad_lines_are_counted_shown_and_passed_over_on_demand() {
    let dir = dir();
    let mut input: String = (1..=40).map(|i| format!("{i:016x} a\n")).collect();
    input.extend((0..12).map(|i| format!("bad{i}! b\n")));
    dir.write("bad.tsv", input);
    let (_, err) = dir.run(&["build", "bad.tsv", "--skip-bad"], 0);
    assert_eq!(err.matches("is not a fingerprint").count(), 10);
    assert!(err.contains("12 bad records skipped"), "{err}");
    dir.run(&["query", "1"], 0);
}

#[test]
fn every_input_spelling_gives_the_same_store() {
    let dir = dir();
    let values = [0x8000_0000_0000_0001_u64, 0x0123_4567_89ab_cdef, 5];
    let write = |name: &str, line: &dyn Fn(u64, usize) -> String| {
        let text: String = values.iter().enumerate().map(|(id, &v)| line(v, id) + "\n").collect();
        dir.write(name, text);
    };
    write("hex", &|v, id| format!("{v:016x}\t{id}"));
    write("dec", &|v, id| format!("{v} {id}"));
    write("sdec", &|v, id| format!("{},{id}", v.cast_signed()));
    let pairs: Vec<u8> = values
        .iter()
        .zip(0_u64..)
        .flat_map(|(v, id)| [v.to_le_bytes(), id.to_le_bytes()].concat())
        .collect();
    dir.write("bin", &pairs);
    let gz = fs::File::create(dir.path("hex.gz")).unwrap();
    let mut encoder = flate2::write::GzEncoder::new(gz, flate2::Compression::fast());
    encoder.write_all(&fs::read(dir.path("hex")).unwrap()).unwrap();
    encoder.finish().unwrap();
    let zst = zstd::encode_all(fs::File::open(dir.path("hex")).unwrap(), 3).unwrap();
    dir.write("hex.zst", zst);

    let mut files: Vec<Vec<u8>> = Vec::new();
    for (number, args) in [
        vec!["hex"],
        vec!["dec", "--radix", "dec"],
        vec!["sdec", "--radix", "sdec"],
        vec!["bin", "--input-format", "u64le-id"],
        vec!["hex.gz"],
        vec!["hex.zst"],
    ]
    .iter()
    .enumerate()
    {
        let store = format!("store{number}.fps");
        dir.run(&[vec!["build", "-s", &store], args.clone()].concat(), 0);
        files.push(fs::read(dir.path(&store).join("segment-0000000000000001.fps")).unwrap());
    }
    assert!(files.iter().all(|file| *file == files[0]));
    let (out, _) = dir
        .run(&["query", "-s", "store0.fps", "-k0", "--radix", "sdec", "-9223372036854775807"], 0);
    assert_eq!(out, "8000000000000001\t8000000000000001\t0\t0\n");

    dir.write("cut", &pairs[..41]);
    let cut = ["build", "cut", "--input-format", "u64le-id", "-s", "c.fps"];
    let (_, err) = dir.run(&cut, 2);
    assert!(err.contains("cut: byte 32: the last record has 9 bytes, expected 16"), "{err}");
    assert!(!dir.path("c.fps").exists());
}

#[test]
fn dump_is_input_for_the_same_store() {
    let dir = dir();
    dir.run(&["build", "input.tsv", "--scheme", "14"], 0);
    let (dumped, _) = dir.run(&["dump"], 0);
    assert_eq!(
        dumped,
        "0123456789abcdee\tb, with comma\n0123456789abcdef\ta.html\n0123456789abcdef\tsecond\n\
         fedcba9876543210\t17\nffffffffffffffff\n"
    );
    for separator in ["tab", ":", "comma", "space"] {
        let (dumped, _) = dir.run(&["dump", "--separator", separator], 0);
        dir.write("again.tsv", dumped);
        dir.run(&["build", "again.tsv", "-s", "again.fps", "--scheme", "14", "--force"], 0);
        let (again, _) = dir.run(&["dump", "-s", "again.fps"], 0);
        assert_eq!(again.lines().count(), 5, "{separator}");
    }
    assert!(!dir.output(&["dump", "--separator", "x"], "").status.success());
    // `build` skips spaces after a comma, so `dump` refuses to print this id after a comma.
    dir.write("space.tsv", "0000000000000001\t lead\n");
    dir.run(&["build", "space.tsv", "-s", "space.fps"], 0);
    assert_eq!(dir.run(&["dump", "-s", "space.fps"], 0).0, "0000000000000001\t lead\n");
    let (_, err) = dir.run(&["dump", "-s", "space.fps", "--separator", ","], 2);
    assert!(err.contains("--separator tab"), "{err}");
}

#[test]
fn info_counts_and_measures() {
    let dir = dir();
    dir.run(&["build", "input.tsv", "-k", "5", "--scheme", "4"], 0);
    let (text, _) = dir.run(&["info"], 0);
    for part in ["fingerprints   4", "ids            4", "tuned for k    5", "external"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let info = dir.json(&["info"]);
    assert_eq!(info["fingerprints"], 4);
    assert_eq!(info["segments"][0]["tables"].as_array().unwrap().len(), 4);
    assert_eq!(info["segments"][0]["tables"][1]["mask"], "0000ffff00000000");
    assert!(info["segments"][0]["information_limit"].is_number());
}

#[test]
fn verify_tells_sound_from_damaged() {
    let dir = dir();
    dir.run(&["build", "input.tsv"], 0);
    let (_, err) = dir.run(&["verify", "--samples", "9"], 0);
    assert!(err.contains("sound") && err.contains("9 samples"), "{err}");
    let segment = dir.path("store.fps/segment-0000000000000001.fps");
    let mut bytes = fs::read(&segment).unwrap();
    bytes[0x4001] ^= 1;
    fs::remove_file(&segment).unwrap();
    fs::write(&segment, bytes).unwrap();
    let (_, err) = dir.run(&["verify"], 1);
    assert!(err.contains("heads of table 0 is corrupt at byte 0x4000: checksum"), "{err}");
    let (out, err) = dir.run(&["query", "0123456789abcdef"], 2);
    assert_eq!(out, "");
    assert!(err.contains("run 'fpstore verify -s store.fps'"), "{err}");
    fs::remove_file(&segment).unwrap();
    let (_, err) = dir.run(&["verify"], 1);
    assert!(err.contains("missing"), "{err}");
}

#[test]
fn segments_are_written_read_only_and_nothing_else_is_left() {
    let dir = dir();
    dir.run(&["build", "input.tsv"], 0);
    assert_eq!(names_in(&dir.path("store.fps")), ["MANIFEST", "segment-0000000000000001.fps"]);
    let segment = dir.path("store.fps/segment-0000000000000001.fps");
    // On Windows, renaming a segment file to its final name clears its read-only attribute.
    assert!(cfg!(windows) || fs::metadata(segment).unwrap().permissions().readonly());
    // Leftovers of a killed build, which the next build removes.
    dir.write(".next.fps.tmp-abcdef/LOCK", "");
    dir.run(&["build", "input.tsv", "-s", "next.fps"], 0);
    dir.assert_files(&["input.tsv", "next.fps", "store.fps"]);
}

#[test]
fn schemes_come_by_name_or_from_a_file_of_masks() {
    let dir = dir();
    dir.write("masks.txt", "# halves\nffffffff00000000\nffffffff\n");
    dir.run(&["build", "input.tsv", "--scheme", "masks.txt", "-s", "a.fps"], 0);
    dir.run(&["build", "input.tsv", "--scheme", "2", "-s", "b.fps"], 0);
    let segment =
        |store: &str| fs::read(dir.path(store).join("segment-0000000000000001.fps")).unwrap();
    assert!(segment("a.fps") == segment("b.fps"));
    let (_, err) = dir.run(&["build", "input.tsv", "--scheme", "7", "-s", "c.fps"], 2);
    assert!(err.contains("'7' is not a family of schemes, expected one of"), "{err}");
    assert!(!dir.path("c.fps").exists());
}

#[test]
fn a_closed_pipe_is_no_error() {
    let dir = dir();
    let input: String = (0..50_000).map(|i| format!("{i:016x} id-{i}\n")).collect();
    dir.write("many.tsv", input);
    dir.run(&["build", "many.tsv"], 0);
    let mut child = dir.command(&["dump"]).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(text(output.stderr), "");
}

/// A failing write to standard error neither stops the program nor changes its status.
#[cfg(target_os = "linux")]
#[test]
fn a_standard_error_that_takes_nothing_changes_no_answer() {
    let dir = dir();
    let full = || fs::File::options().write(true).open("/dev/full").unwrap();
    for (args, status) in [
        (&["build", "input.tsv"][..], 0),
        (&["query", "--explain", "0123456789abcdef"], 0),
        (&["query", "zz"], 2),
        (&["verify"], 0),
        (&["build", "input.tsv"], 2),
    ] {
        let mut command = program(args, dir.folder());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(full());
        let code = command.status().unwrap().code();
        assert_eq!(code, Some(status), "{args:?}");
    }
    // A failed write of results is an error, unlike one of messages.
    let dump = program(&["dump"], dir.folder()).stdout(full()).output().unwrap();
    assert_eq!(dump.status.code(), Some(2));
    assert!(text(dump.stderr).ends_with("\nfpstore: the disk is full; free some space\n"));
}

#[test]
fn usage_errors_exit_with_2_and_completions_with_0() {
    let dir = dir();
    for args in [
        vec![],
        vec!["query"],
        vec!["query", "5", "--limit", "0"],
        vec!["frobnicate"],
        vec!["build", "-k", "65"],
    ] {
        assert_eq!(dir.output(&args, "").status.code(), Some(2), "{args:?}");
    }
    for shell in ["bash", "zsh", "fish"] {
        assert!(dir.run(&["completions", shell], 0).0.contains("fpstore"));
    }
}

#[test]
fn compressed_input_that_is_damaged_says_so() {
    let dir = dir();
    for name in ["fake.zst", "fake.GZ"] {
        dir.write(name, "no frame");
        let (_, err) = dir.run(&["build", name], 2);
        assert!(err.contains(&format!("cannot decompress {name}")), "{err}");
    }
    let whole = zstd::encode_all(INPUT.as_bytes(), 3).unwrap();
    dir.write("cut.zst", &whole[..whole.len() - 5]);
    let (_, err) = dir.run(&["build", "cut.zst"], 2);
    assert!(err.contains("cannot decompress cut.zst"), "{err}");
    assert!(!dir.path("store.fps").exists());
}

#[test]
fn the_help_of_every_command_has_examples_and_the_short_one_fits_a_screen() {
    let dir = dir();
    let (help, _) = dir.run(&["help"], 0);
    for group in ["Make a store:", "Search a store:", "Change a store:", "Work with texts:"] {
        assert!(help.contains(&format!("\n{group}\n")), "{group}: {help}");
    }
    let groups = help.lines().take_while(|line| *line != "Options:");
    let commands = groups.filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    let commands: Vec<&str> = commands.collect();
    assert!(commands.len() >= 24, "{help}");
    for command in commands {
        let (long, _) = dir.run(&[command, "--help"], 0);
        assert!(long.contains("Example"), "{command}");
        let (_, status) = long.rsplit_once("\n\nExit status: 0").expect(command);
        // Only the first line: a hint to the full list of options may follow, which program::words
        // tests.
        let status = status.lines().next().unwrap_or_default();
        assert!(status.contains("2 error") && status.ends_with('.'), "{command}: {status}");
        let (short, _) = dir.run(&[command, "-h"], 0);
        let line_count = short.lines().count();
        assert!(line_count <= 45, "{command} -h has {line_count} lines");
    }
}
