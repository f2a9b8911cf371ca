//! Tests the doctor: it names the cause of faulty fingerprints, and has no findings for good ones.

use std::path::PathBuf;

use crate::common::{Random, Record, number, scheme_named, store_of, uniform};
use fpstore::input::{InputOptions, read_records};
use fpstore::profile::{Collector, Statistics, profile};
use fpstore::{Fingerprint, Scheme};
use fpstore_report::doctor::{self, Finding, FindingCode, Severity, findings};

fn gathered(values: impl IntoIterator<Item = u64>) -> Statistics {
    let mut collector = Collector::new();
    values.into_iter().for_each(|value| collector.push(Fingerprint::new(value)));
    collector.finish(&scheme_named("2"))
}

fn random(count: usize, seed: u64) -> Vec<u64> {
    let mut random = Random::new(seed);
    (0..count).map(|_| random.next()).collect()
}

fn codes(findings: &[Finding]) -> Vec<FindingCode> {
    findings.iter().map(|finding| finding.code).collect()
}

#[test]
fn random_fingerprints_give_no_finding() {
    for (count, seeds) in [(1, 50), (2, 50), (10, 2000), (100, 1000), (1000, 500), (100_000, 20)] {
        for seed in 0..seeds {
            let findings = findings(&gathered(random(count, seed)));
            assert_eq!(findings, [], "n={count}, seed {seed}");
        }
    }
}

#[test]
fn a_sample_of_random_fingerprints_gives_no_finding() {
    for seed in 0..10 {
        for exact_max in [100, 1000, 20_000] {
            let mut collector = Collector::with_exact_max(exact_max);
            random(300_000, seed).iter().for_each(|&v| collector.push(Fingerprint::new(v)));
            let statistics = collector.finish(&scheme_named("4"));
            assert!(statistics.sampling.is_some());
            assert_eq!(findings(&statistics), [], "seed {seed}, sample of {exact_max}");
        }
    }
}

#[test]
fn random_stores_of_every_scheme_give_no_finding() {
    for (name, scheme) in crate::common::schemes(3) {
        let records = uniform(3000, 5);
        let temp = store_of(&records, scheme);
        assert_eq!(findings(&profile(&temp.store).unwrap()), [], "{name}");
    }
}

/// A store and a file of the same records have the same statistics, except whether ids or records
/// are counted.
#[test]
fn a_store_and_its_input_have_the_same_statistics() {
    let mut records = crate::common::clustered(5000, 1);
    records.extend(crate::common::skewed(3000, 2));
    // Removes repeated records from the input, because a store counts them once.
    let mut known = std::collections::BTreeSet::new();
    records.retain(|record| known.insert(record.clone()));
    for name in ["1", "2", "4", "14"] {
        let scheme = scheme_named(name);
        let mut collector = Collector::new();
        records.iter().for_each(|&(value, _)| collector.push(Fingerprint::new(value)));
        let mut input = collector.finish(&scheme);
        let temp = store_of(&records, scheme);
        let store = profile(&temp.store).unwrap();
        input.counted = store.counted;
        for (table, of_store) in input.tables.iter_mut().zip(&store.tables) {
            table.segment = of_store.segment;
        }
        // Exactly equal, because sampling begins only above 2^20 fingerprints.
        assert_eq!(input, store, "{name}");
        let text = |findings: &[Finding]| format!("{findings:?}");
        assert_eq!(text(&findings(&input)), text(&findings(&store)), "{name}");
    }
}

/// Fingerprints in which 20 bits, leading or spread over the 64, are always 0 or always 1.
#[test]
fn dead_bits_are_named() {
    let scattered = 0x8421_8421_8421_8421 | 0x1f;
    for (dead, ones, named) in [
        (u64::MAX << 44, 0, "bits 63-44 are 0"),
        (u64::MAX << 44, u64::MAX, "bits 63-44 are 1"),
        (0xf_ffff, 0, "bits 19-0 are 0"),
        (0xf_ffff << 20, 0x3_ffff << 20, "bits 39-38 are 0 and bits 37-20 are 1"),
        (scattered, 0, "bits 63, 58, 53, 48-47, 42, 37, 32-31, 26, 21, 16-15, 10 and 5-0 are 0"),
    ] {
        for count in [64, 1000, 100_000] {
            let values = random(count, 7).into_iter().map(|v| v & !dead | dead & ones);
            let findings = findings(&gathered(values));
            let first = &findings[0];
            assert_eq!((first.code, first.severity), (FindingCode::DeadBits, Severity::Serious));
            assert!(first.sentence.contains("20 of 64 bits are constant"), "{first}");
            assert!(first.sentence.contains(named), "{first}");
            assert!(first.remedy.contains("look for the cause where"), "{}", first.remedy);
        }
    }
}

#[test]
fn dead_bits_are_named_though_a_few_fingerprints_have_them() {
    let mut values: Vec<u64> = random(20_000, 3).iter().map(|v| v >> 20).collect();
    values.extend([u64::MAX, 0xdead_beef_dead_beef]);
    let findings = findings(&gathered(values));
    assert_eq!(findings[0].code, FindingCode::DeadBits);
    assert!(findings[0].sentence.contains("all but one in a thousand"), "{}", findings[0]);
    assert!(findings[0].sentence.contains("bits 63-44 are 0"), "{}", findings[0]);
}

#[test]
fn one_fingerprint_with_half_of_the_ids_is_named() {
    let heavy = 0x1234_5678_9abc_def0;
    for (heavy, told) in [(heavy, "error page"), (0, "empty documents"), (u64::MAX, "empty")] {
        for count in [400, 20_000] {
            let mut records: Vec<Record> = uniform(count, 11);
            records.iter_mut().step_by(2).for_each(|record| record.0 = heavy);
            let temp = store_of(&records, scheme_named("2"));
            let statistics = profile(&temp.store).unwrap();
            let half = count / 2;
            assert_eq!(statistics.heaviest[0].count, half);
            let findings = findings(&statistics);
            assert_eq!(codes(&findings), [FindingCode::HeavyFingerprint], "{findings:?}");
            assert_eq!(findings[0].severity, Severity::Serious);
            let sentence = &findings[0].sentence;
            assert!(sentence.contains(&format!("{heavy:016x}")), "{sentence}");
            assert!(sentence.contains(" ids (50 %)"), "{sentence}");
            assert!(findings[0].remedy.contains(told), "{}", findings[0].remedy);
        }
    }
}

#[test]
fn one_fingerprint_with_half_of_the_records_is_named_from_a_sample_too() {
    for seed in 0..20 {
        let mut collector = Collector::with_exact_max(1000);
        for (i, value) in random(100_000, seed).into_iter().enumerate() {
            collector.push(Fingerprint::new(if i % 2 == 0 { 0x77 } else { value }));
        }
        let findings = findings(&collector.finish(&scheme_named("2")));
        assert_eq!(codes(&findings), [FindingCode::HeavyFingerprint], "{findings:?}");
        assert!(findings[0].sentence.contains("0000000000000077"), "{}", findings[0]);
    }
}

#[test]
fn values_of_32_bits_with_zeros_in_front_are_named() {
    for count in [64, 1000, 100_000] {
        let values = random(count, 13).into_iter().map(|value| value >> 32);
        let findings = findings(&gathered(values));
        let first = &findings[0];
        assert_eq!((first.code, first.severity), (FindingCode::ZeroExtended, Severity::Serious));
        assert!(first.sentence.contains("bits 63-32 are 0 in every fingerprint"), "{first}");
        assert!(first.sentence.contains("32-bit values with leading zeros"), "{first}");
        assert!(first.remedy.contains("make 64-bit fingerprints"), "{}", first.remedy);
        assert!(!codes(&findings).contains(&FindingCode::DeadBits), "{findings:?}");
        let crowded = codes(&findings).contains(&FindingCode::CrowdedTable);
        assert_eq!(crowded, count >= 1000, "{findings:?}");
    }
}

#[test]
fn values_that_were_spelled_or_carried_wrongly_are_named() {
    let decimal = |v: u64| u64::from_str_radix(&(v % 10_u64.pow(16)).to_string(), 16).unwrap();
    type Spoil<'a> = &'a dyn Fn(u64) -> u64;
    let cases: [(FindingCode, Spoil<'_>, &str); 6] = [
        (FindingCode::DecimalReadAsHex, &decimal, "--radix dec"),
        (FindingCode::RoundedByDouble, &|v| v as f64 as u64, "hex text"),
        (FindingCode::SignExtended, &|v| i64::from(v as i32).cast_unsigned(), "signed 32-bit"),
        (FindingCode::CopiedBits, &|v| v << 32 | v & 0xffff_ffff, "its own hash bits"),
        (FindingCode::EvenDistances, &|v| v & !1 | u64::from((v >> 1).count_ones() % 2), "even k"),
        (FindingCode::BiasedBits, &|v| v & (v.rotate_right(9) | 0xffff), "features"),
    ];
    for (code, spoil, remedy) in cases {
        for count in [500, 50_000] {
            let findings = findings(&gathered(random(count, 17).into_iter().map(spoil)));
            assert_eq!(findings[0].code, code, "n={count}: {findings:?}");
            assert!(findings[0].remedy.contains(remedy), "{}", findings[0].remedy);
        }
    }
    for (start, step) in [(0, 1), (5_000_000_000, 1), (1_700_000_000_000, 13)] {
        let findings = findings(&gathered((0..1000).map(|i| start + step * i)));
        assert_eq!(findings[0].code, FindingCode::CountingNumbers, "{findings:?}");
        assert!(findings[0].remedy.contains("not the id"), "{}", findings[0].remedy);
    }
}

#[test]
fn constant_fingerprints_are_noted_with_their_ids() {
    let mut records = uniform(1000, 19);
    records.extend([(0, number(1)), (0, number(2)), (u64::MAX, number(3))]);
    let temp = store_of(&records, scheme_named("2"));
    let statistics = profile(&temp.store).unwrap();
    assert_eq!((statistics.zero_count, statistics.all_ones_count), (2, 1));
    let findings = findings(&statistics);
    assert_eq!(codes(&findings), [FindingCode::ConstantFingerprint; 2]);
    assert_eq!(findings[0].sentence, "the fingerprint 0000000000000000 has 2 ids");
    assert_eq!(findings[1].sentence, "the fingerprint ffffffffffffffff has 1 id");
}

#[test]
fn an_empty_store_says_so() {
    let temp = store_of(&[], scheme_named("2"));
    let statistics = profile(&temp.store).unwrap();
    assert_eq!(codes(&findings(&statistics)), [FindingCode::Empty]);
}

#[test]
fn a_distance_too_far_for_the_number_is_named() {
    let scheme = Scheme::named("blocks-9", 12).unwrap();
    let mut collector = Collector::new();
    random(100_000, 23).iter().for_each(|&value| collector.push(Fingerprint::new(value)));
    let statistics = collector.finish(&scheme);
    // A query finds 10^5 * (C(64,0) + ... + C(64,12)) / 2^64 = 0.0236 matches by chance, which is
    // below the limit of 0.1.
    assert_eq!(findings(&statistics), []);
    let mut collector = Collector::new();
    random(100_000, 23).iter().for_each(|&value| collector.push(Fingerprint::new(value)));
    let findings = findings(&collector.finish(&Scheme::named("blocks-9", 14).unwrap()));
    assert_eq!(codes(&findings), [FindingCode::ChanceMatches]);
    assert!(findings[0].sentence.starts_with("at k = 14 and 100 000 fingerprints"), "{findings:?}");
}

#[test]
fn findings_come_most_severe_first_and_always_in_the_same_order() {
    let mut values = random(20_000, 29).iter().map(|v| v >> 32).collect::<Vec<_>>();
    values.extend([0; 3000]);
    let findings = findings(&gathered(values.iter().copied()));
    assert!(findings.is_sorted_by_key(|f| (std::cmp::Reverse(f.severity), f.code)));
    values.reverse();
    assert_eq!(doctor::findings(&gathered(values)), findings);
}

fn real(name: &str) -> Statistics {
    let folder: PathBuf = crate::common::root().join("tests").join("data");
    let mut collector = Collector::new();
    read_records(&folder.join(name), &InputOptions::default(), |record| {
        collector.push(record.fingerprint);
        Ok::<(), fpstore::Error>(())
    })
    .unwrap();
    collector.finish(&scheme_named("2"))
}

#[test]
fn real_fingerprints_give_sensible_findings() {
    use FindingCode::{BiasedBits, CorrelatedBits, EvenDistances, HeavyFingerprint, MedianHash};
    // SimHash values have no findings; tests/data/README.md explains those of the other hashes.
    for (name, expected) in [
        ("tang_store.tsv.zst", vec![]),
        ("noto_emoji_phash64.hex.zst", vec![MedianHash, BiasedBits, EvenDistances]),
        ("pdq_video_frames_a.hex.zst", vec![CorrelatedBits]),
        ("tlsh_malware_w0.hex.zst", vec![HeavyFingerprint, BiasedBits]),
    ] {
        let findings = findings(&real(name));
        assert_eq!(codes(&findings), expected, "{name}: {findings:#?}");
        // Hashes of pictures in tables tuned for -k 3 cause a warning.
        let severity = if name.contains("phash") { Severity::Warning } else { Severity::Note };
        assert_eq!(findings.first().map_or(severity, |it| it.severity), severity, "{name}");
        assert!(
            findings.iter().skip(1).all(|finding| finding.severity == Severity::Note),
            "{name}"
        );
    }
    let emoji = findings(&real("noto_emoji_phash64.hex.zst"));
    assert!(emoji[0].sentence.starts_with("99"), "{}", emoji[0]);
    assert!(emoji[0].sentence.contains("tuned for -k 3"), "{}", emoji[0]);
    assert!(emoji[0].remedy.contains("-k 8 to -k 10"), "{}", emoji[0].remedy);
    let malware = findings(&real("tlsh_malware_w0.hex.zst"));
    assert!(malware[0].sentence.contains("118 of 9 999 records"), "{}", malware[0]);
}
