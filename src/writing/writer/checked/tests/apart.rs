//! Checks that respect labelled pairs, compared with a model that examines every record.

use crate::Builder;
use crate::base::judged::JudgedPairs;
use crate::join::tests::random::Random;
use crate::writing::writer::checked::*;
use fpstore_base::labels::LabelFile;
use fpstore_base::{Fingerprint, Id};

const IDS: u64 = 40;

/// The stored and the pending records, as fingerprints with ids.
#[derive(Default)]
struct Model {
    stored: Vec<(u64, Option<String>)>,
    pending: Vec<(u64, Option<String>)>,
}

/// The nearest record: its distance, its fingerprint, and whether it is pending. `None` if there is
/// none.
type Found = Option<(u32, u64, bool)>;

impl Model {
    fn check(&mut self, record: &NewRecord, k: u32, pairs: &JudgedPairs) -> Found {
        let id = record.id.as_ref().map(ToString::to_string);
        let value = record.fingerprint.value();
        let apart = |other: &Option<String>| {
            id.as_ref().zip(other.as_ref()).is_some_and(|(a, b)| pairs.are_different(a, b))
        };
        let distance = |other: u64| (other ^ value).count_ones();
        // A stored fingerprint is ignored if it has ids and all of them are labelled
        // different.
        let counts = |of: u64| {
            let own = self.stored.iter().filter(|record| record.0 == of && record.1.is_some());
            let ids: Vec<_> = own.map(|record| &record.1).collect();
            ids.is_empty() || ids.iter().any(|id| !apart(id))
        };
        let stored = self.stored.iter().map(|record| record.0);
        let near = |of: &u64| distance(*of) <= k;
        let stored = stored.filter(near).filter(|of| counts(*of)).map(|of| (distance(of), of));
        let pending = self.pending.iter().filter(|(of, id)| near(of) && !apart(id));
        let pending = pending.map(|(of, _)| (distance(*of), *of)).min_by_key(|found| found.0);
        let found = match (stored.min(), pending) {
            (Some(stored), Some(pending)) if pending.0 < stored.0 => Some((pending, true)),
            (Some(stored), _) => Some((stored, false)),
            (None, pending) => pending.map(|pending| (pending, true)),
        };
        if found.is_none() {
            self.pending.push((value, id));
        }
        found.map(|((distance, of), is_pending)| (distance, of, is_pending))
    }
}

fn random_pairs(random: &mut Random) -> JudgedPairs {
    let mut text = String::new();
    for _ in 0..random.below(400) {
        let [one, other] = [(); 2].map(|()| random.below(IDS));
        if one != other {
            text += &format!("p{one}\tp{other}\t0\n");
        }
    }
    // Labels with other numbers than 0 do not mean "different", so they have no effect.
    text += "q1\tq2\t1\nq3\tq4\t-1\n";
    JudgedPairs::new(&LabelFile::parse(&text).unwrap()).unwrap()
}

/// Converts a verdict to the result of the model.
fn found_of(record: &NewRecord, verdict: Verdict<'_>) -> Found {
    match verdict {
        Verdict::Added => None,
        Verdict::Stored(hit) => {
            let distance = hit.fingerprint().distance(record.fingerprint);
            Some((distance, hit.fingerprint().value(), false))
        }
        Verdict::Pending { record, distance } => Some((distance, record.fingerprint.value(), true)),
        Verdict::Cut => panic!("there is no limit"),
    }
}

/// Checks and adds a record. With `is_ahead`, first compares it by [`Ahead`], like the server.
fn check(
    writer: &mut CheckedWriter,
    record: &NewRecord,
    k: u32,
    pairs: &JudgedPairs,
    is_ahead: bool,
) -> Found {
    let limits = Limits::default();
    if is_ahead {
        let mut ahead = Ahead::new([record.fingerprint], k);
        ahead.set_out(writer.writer().unwrap().store());
        assert_eq!(ahead.compare(&limits, None, true).unwrap(), ComparisonProgress::All);
        let nearest = ahead.nearest().next().unwrap();
        let verdict = writer.add_compared_judged(record, k, nearest, &limits, pairs).unwrap();
        return found_of(record, verdict);
    }
    let verdict = writer.check_and_add_judged(record, k, &limits, pairs).unwrap();
    if let Verdict::Stored(hit) = verdict {
        assert_eq!(hit.distance(), hit.fingerprint().distance(record.fingerprint), "{is_ahead}");
    }
    found_of(record, verdict)
}

#[test]
fn records_that_are_judged_different_are_never_near() {
    let mut passed = 0;
    for seed in 0..60 {
        let mut random = Random::new(900 + seed);
        let pairs = random_pairs(&mut random);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store.fps");
        drop(Builder::new(&path).unwrap().finish().unwrap());
        let options = WriterOptions::default().compact(false);
        let mut writer = CheckedWriter::new(&path, options);
        let mut model = Model::default();
        let (bits, k) = (2 + random.below(9), random.below(4) as u32);
        for round in 0..60 {
            let id = match random.below(8) {
                0 => None,
                _ => Some(Id::Text(format!("p{}", random.below(IDS)).into())),
            };
            let value = random.below(1 << bits);
            let record = NewRecord::new(Fingerprint::new(value), id);
            let without = {
                let none = JudgedPairs::default();
                let pending = model.pending.clone();
                let found = model.check(&record, k, &none);
                model.pending = pending;
                found
            };
            let expected = model.check(&record, k, &pairs);
            passed += u32::from(without != expected);
            let is_ahead = random.below(2) == 0;
            let found = check(&mut writer, &record, k, &pairs, is_ahead);
            assert_eq!(found, expected, "seed {seed}, round {round}, k {k}, {record:?}");
            if random.below(6) == 0 {
                writer.commit().unwrap();
                model.stored.append(&mut model.pending);
            }
        }
    }
    assert!(passed > 100, "the pairs matter: {passed}");
}

/// With and without labels, a check finds records at distance `k` and none beyond.
#[test]
fn a_judged_fingerprint_hides_no_other_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.fps");
    let mut builder = Builder::new(&path).unwrap();
    for (value, id) in [(0_u64, "a"), (0, "b"), (0b1, "c"), (0b111, "d"), (0b1111_0000, "e")] {
        builder.push(value.into(), id).unwrap();
    }
    drop(builder.finish().unwrap());
    let found = |pairs: &str, k: u32| {
        let pairs = JudgedPairs::new(&LabelFile::parse(pairs).unwrap()).unwrap();
        let mut writer = CheckedWriter::new(&path, WriterOptions::default());
        let record = NewRecord::new(0.into(), Some(Id::Text("new".into())));
        [false, true].map(|is_ahead| {
            let found = check(&mut writer, &record, k, &pairs, is_ahead);
            writer.forget(..);
            found.map(|found| (found.0, found.1))
        })
    };
    let both = |found: (u32, u64)| [Some(found); 2];
    assert_eq!(found("new\ta\t0\n", 3), both((0, 0)), "b has the same fingerprint");
    let mut pairs = String::from("new\ta\t0\nb\tnew\t0\n");
    assert_eq!(found(&pairs, 3), both((1, 1)));
    pairs += "new\tc\t0\n";
    assert_eq!(found(&pairs, 3), both((3, 0b111)));
    assert_eq!(found(&pairs, 2), [None; 2]);
    pairs += "d\tnew\t0\n";
    assert_eq!(found(&pairs, 3), [None; 2]);
    assert_eq!(found(&pairs, 4), both((4, 0b1111_0000)));
}
