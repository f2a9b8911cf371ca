//! Tests `clean --pairs`: pairs of documents judged by people.

use std::collections::{BTreeMap, BTreeSet};

use super::{are_near, documents, near_args, removed};
use crate::common::documents::{Document, json_lines};
use crate::common::program::TestDir;
use crate::common::{Random, oracle};

/// Judged pairs of documents, by their positions: duplicates, and different documents.
struct Judged {
    one: BTreeSet<(usize, usize)>,
    different: BTreeSet<(usize, usize)>,
}

impl Judged {
    /// Judges some documents that would be removed different from their kept document, and some
    /// random pairs duplicates.
    fn of(documents: &[Document], threshold: Option<f64>) -> Self {
        let mut random = Random::new(90);
        let mut any = || random.next() as usize % documents.len();
        let one: BTreeSet<(usize, usize)> =
            (0..25).map(|_| (any(), any())).filter(|(a, b)| a != b).collect();
        let judged = Judged { one, different: BTreeSet::new() };
        let components = judged.components(documents.len());
        let of = |at: usize| components.iter().position(|own| own.contains(&at));
        let different = removed(documents, threshold, |_, _| 0).into_iter().step_by(3);
        let different = different.filter(|&(at, kept)| of(at) != of(kept)).collect();
        Judged { different, ..judged }
    }

    fn components(&self, count: usize) -> Vec<Vec<usize>> {
        oracle::components(count, |a, b| self.one.contains(&(a, b)) || self.one.contains(&(b, a)))
    }

    fn lines(&self, documents: &[Document]) -> String {
        let line = |(a, b): &(usize, usize), label| {
            format!("{}\t{}\t{label}\n", documents[*a].id, documents[*b].id)
        };
        let one = self.one.iter().map(|pair| line(pair, 1));
        // The order of the two ids has no meaning, so these are swapped.
        let different = self.different.iter().map(|&(a, b)| line(&(b, a), 0));
        let unknown = ["x\ty\t1\n".into(), format!("{}\tx\t0\n", documents[0].id)];
        one.chain(different).chain(unknown).collect()
    }

    /// The expected result: for each removed document the kept document, and whether the two were
    /// judged duplicates.
    fn removed(
        &self,
        documents: &[Document],
        threshold: Option<f64>,
    ) -> BTreeMap<usize, (usize, bool)> {
        let components = self.components(documents.len());
        let bests: BTreeMap<usize, usize> =
            components.iter().flat_map(|own| own[1..].iter().map(|at| (*at, own[0]))).collect();
        let rest = (0..documents.len()).filter(|at| !bests.contains_key(at));
        let near = |a: usize, b: usize| are_near(&documents[a], &documents[b], threshold);
        let near = oracle::dropped(0..0, rest, near);
        let of_best =
            |(&at, &best): (&usize, &usize)| (at, (*near.get(&best).unwrap_or(&best), true));
        let judged: BTreeMap<_, _> = bests.iter().map(of_best).collect();
        let mut all: BTreeMap<usize, (usize, bool)> =
            near.iter().map(|(&at, &kept)| (at, (kept, false))).chain(judged).collect();
        all.retain(|&at, (kept, _)| !self.different.contains(&(at, *kept)));
        all
    }
}

#[test]
fn judged_pairs_are_obeyed() {
    let documents = documents(300, 91);
    let dir = TestDir::with("in.jsonl", &json_lines(&documents));
    let position: BTreeMap<&str, usize> =
        documents.iter().enumerate().map(|(at, document)| (document.id.as_str(), at)).collect();
    for confirm in [None, Some("0.8")] {
        let threshold = confirm.map(|is: &str| is.parse().unwrap());
        let judged = Judged::of(&documents, threshold);
        assert!(judged.different.len() > 10, "{}", judged.different.len());
        dir.write("judged.tsv", judged.lines(&documents));
        let mut args = vec!["clean", "in.jsonl", "--pairs", "judged.tsv", "-f"];
        args.extend(["-o", "out.jsonl", "--removed", "r.tsv"]);
        args.extend(near_args(confirm));
        let (_, err) = dir.run(&args, 0);
        let rows = dir.read("r.tsv");
        let found: BTreeMap<usize, (usize, bool)> = rows
            .lines()
            .map(|line| {
                let columns: Vec<&str> = line.split('\t').collect();
                let number = |column: usize| position[columns[column]];
                (number(4), (number(5), columns[7] == "judged"))
            })
            .collect();
        let expected = judged.removed(&documents, threshold);
        assert_eq!(found, expected, "{confirm:?}");
        let count = expected.values().filter(|(_, is_judged)| *is_judged).count();
        assert!(err.contains(&format!("removed by reason: judged {count}, ")), "{err}");
        let kept = documents.len() - expected.len();
        assert_eq!(dir.read("out.jsonl").lines().count(), kept, "{confirm:?}");
    }
}

#[test]
fn judgements_that_contradict_or_name_two_documents_are_refused() {
    let dir = TestDir::with("in.jsonl", &json_lines(&documents(6, 92)));
    let lines = dir.read("in.jsonl");
    let run = |pairs: &str, more: &[&str]| {
        dir.write("judged.tsv", pairs);
        let args = ["clean", "in.jsonl", "--pairs", "judged.tsv", "--list"];
        dir.run(&[&args[..], more].concat(), 2).1
    };
    let ids: Vec<String> = documents(6, 92).into_iter().map(|document| document.id).collect();
    let [a, b, c] = [0, 1, 2].map(|at: usize| ids[at].as_str());
    let err = run(&format!("{a}\t{b}\t1\n{b}\t{c}\t1\n{c}\t{a}\t0\n"), &[]);
    assert!(err.contains("are judged different, and the same by other pairs"), "{err}");
    let err = run(&format!("{a}\t{b}\tyes\n{a}\t{b}\tyes\n"), &[]);
    assert!(err.contains("judged.tsv: line 1: label is 'yes', expected 1, 0 or -1"), "{err}");
    let err = run(&format!("{a}\t{b}\t1\n"), &["--target", "3"]);
    assert!(err.contains("leave out one of these"), "{err}");
    dir.write("in.jsonl", format!("{lines}{lines}"));
    let err = run(&format!("{a}\t{b}\t1\n"), &[]);
    assert!(err.contains(&format!("two documents have the id '{a}', so judgements")), "{err}");
}
