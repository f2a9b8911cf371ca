//! Compares the clusters of a `Confirmer` with clusters computed by definition.

use std::collections::{BTreeMap, BTreeSet};

use fpstore_base::Choice;

use super::*;
use crate::join::{ClusterMethod, Fate, KeepRule};

const METHODS: [ClusterMethod; 3] =
    [ClusterMethod::Components, ClusterMethod::Star, ClusterMethod::Leader];

fn clusters(
    documents: &[Document],
    threshold: f64,
    options: &JoinOptions,
    method: ClusterMethod,
) -> ConfirmedClusters {
    let confirmer = Confirmer::new(threshold, options.clone()).unwrap().to(InClusters(method));
    let read = |take: &mut TakeDocument<'_, [u64]>| {
        documents.iter().try_for_each(|(value, features)| {
            take(Fingerprint::new(*value), None, features.as_slice())
        })
    };
    confirmer.features::<Error>(read).unwrap()
}

fn list(clusters: &ConfirmedClusters) -> Vec<ConfirmedCluster> {
    let mut list = Vec::new();
    let each = |cluster: &ConfirmedCluster| {
        list.push(cluster.clone());
        Ok::<(), Error>(())
    };
    clusters.for_each(each).unwrap();
    list
}

/// Clusters of two or more documents, computed from all similar pairs by the definition.
fn by_definition(
    documents: &[Document],
    pairs: &BTreeMap<(usize, usize), f64>,
    method: ClusterMethod,
) -> Vec<BTreeSet<u32>> {
    let near = |a: usize, b: usize| a == b || pairs.contains_key(&(a.min(b), a.max(b)));
    let count = documents.len();
    let degree = |at: usize| (0..count).filter(|&other| near(at, other)).count();
    // Components by repeated renaming: similar documents get the same name.
    let mut names: Vec<usize> = (0..count).collect();
    for &(a, b) in pairs.keys() {
        let (a, b) = (names[a], names[b]);
        names.iter_mut().filter(|name| **name == b).for_each(|name| *name = a);
    }
    let mut order: Vec<usize> = (0..count).collect();
    if method != ClusterMethod::Leader {
        order.sort_by_key(|&at| (std::cmp::Reverse(degree(at)), at));
    }
    let mut is_taken = vec![false; count];
    let mut found = Vec::new();
    for center in order {
        if is_taken[center] {
            continue;
        }
        let belongs = |other: usize| match method {
            ClusterMethod::Components => names[other] == names[center],
            _ => near(center, other),
        };
        let own: Vec<usize> = (0..count).filter(|&at| !is_taken[at] && belongs(at)).collect();
        own.iter().for_each(|&at| is_taken[at] = true);
        if own.len() > 1 {
            found.push(own.into_iter().map(|at| at as u32).collect());
        }
    }
    found.sort_by_key(|cluster: &BTreeSet<u32>| cluster.first().copied());
    found
}

/// Copies of three templates, each with up to `exchanged - 1` exchanged features: most are similar
/// to all copies of their template, some only to a few.
fn templates(count: usize, seed: u64, exchanged: u64) -> Vec<Document> {
    let mut random = Random::new(seed);
    let texts: Vec<Vec<u64>> =
        (0..3).map(|_| (0..150).map(|_| random.next() % 100_000).collect()).collect();
    let of = |text: &[u64], random: &mut Random| {
        let mut features: BTreeSet<u64> = text.iter().copied().collect();
        for _ in 0..random.next() % exchanged {
            let at = text[random.next() as usize % text.len()];
            features.remove(&at);
            features.insert(random.next());
        }
        let value = features.iter().take(3).fold(0, |value, feature| value ^ 1 << (feature % 64));
        (value, features.into_iter().collect())
    };
    (0..count).map(|_| of(&texts[random.next() as usize % texts.len()], &mut random)).collect()
}

#[test]
fn clusters_are_those_of_their_definition() {
    for (documents, k, threshold) in [
        (documents(0, 1), 3, 0.5),
        (documents(1, 2), 3, 0.5),
        (documents(2, 3), 64, 0.3),
        (documents(200, 11), 4, 0.7),
        (documents(300, 12), 2, 0.5),
        (vec![(7, vec![1, 2]); 40], 0, 1.0),
        ((0..60).map(|at| (7, vec![at])).collect(), 3, 0.5),
        (large_documents(150, 13), 2, 0.8),
        (templates(200, 14, 12), 6, 0.9),
        (templates(200, 15, 30), 6, 0.8),
        (templates(200, 16, 60), 64, 0.7),
        (templates(200, 17, 60), 3, 0.6),
    ] {
        let pairs = expected(&documents, threshold);
        for method in METHODS {
            let expected = by_definition(&documents, &pairs, method);
            for threads in [1, 3] {
                let options = options(k).threads(threads);
                let found = list(&clusters(&documents, threshold, &options, method));
                let mut sets: Vec<BTreeSet<u32>> = Vec::new();
                for (cluster, number) in found.iter().zip(1..) {
                    assert_eq!(cluster.number, number);
                    let all = cluster.members.iter().flat_map(|member| &member.documents);
                    sets.push(all.copied().collect());
                    assert_eq!(cluster.size, sets.last().unwrap().len() as u64);
                    check_members(&documents, cluster, method);
                    check_representative(cluster, method, &pairs);
                }
                sets.sort_by_key(|cluster| cluster.first().copied());
                assert_eq!(sets, expected, "{method:?} {} k={k} {threshold}", documents.len());
            }
        }
    }
}

/// Checks the order of members, and their distances and similarities to the representative.
fn check_members(documents: &[Document], cluster: &ConfirmedCluster, method: ClusterMethod) {
    let (value, own) = &documents[cluster.members[0].documents[0] as usize];
    for member in &cluster.members {
        for &document in &member.documents {
            let (other, features) = &documents[document as usize];
            assert_eq!(member.similarity, jaccard(features, own), "{method:?}");
            assert_eq!(member.distance, (other ^ value).count_ones());
            assert_eq!(member.fingerprint.value(), *other);
        }
    }
    let similarities = || cluster.members[1..].iter().map(|member| member.similarity);
    assert!(similarities().is_sorted_by(|a, b| a >= b));
}

/// Checks that the representative is similar to the most documents; with `Leader`, that it is the
/// first document.
fn check_representative(
    cluster: &ConfirmedCluster,
    method: ClusterMethod,
    pairs: &BTreeMap<(usize, usize), f64>,
) {
    let all = || cluster.members.iter().flat_map(|member| &member.documents);
    let own = cluster.members[0].documents[0];
    let degree = |at: u32| pairs.keys().filter(|(a, b)| [*a, *b].contains(&(at as usize))).count();
    match method {
        ClusterMethod::Leader => assert_eq!(Some(&own), all().min()),
        ClusterMethod::Components => {
            let best = all().min_by_key(|&&at| (std::cmp::Reverse(degree(at)), at));
            assert_eq!(Some(&own), best);
        }
        _ => {}
    }
}

#[test]
fn clusters_come_in_the_order_of_their_method() {
    let documents = templates(100, 18, 60);
    for method in METHODS {
        let found = list(&clusters(&documents, 0.7, &options(4), method));
        assert!(found.len() > 2);
        let first = |cluster: &ConfirmedCluster| match method {
            ClusterMethod::Components => {
                cluster.members.iter().map(|member| member.fingerprint.value()).min().unwrap()
            }
            ClusterMethod::Leader => cluster.members[0].documents[0].into(),
            // Stars are in the order of their components, which is not checked.
            _ => 0,
        };
        assert!(found.is_sorted_by_key(first), "{method:?}");
    }
}

#[test]
fn one_document_of_a_cluster_is_kept() {
    let ids = [IdRef::U64(10), IdRef::Text("1"), IdRef::U64(9)];
    let confirmer = Confirmer::new(0.7, options(2)).unwrap();
    let clusters = confirmer
        .to(InClusters(ClusterMethod::Components))
        .features(|take| ids.iter().try_for_each(|id| take(Fingerprint::new(1), Some(*id), &[7])))
        .unwrap();
    assert_eq!((clusters.document_count(), clusters.compared_count()), (3, 0));
    assert_eq!(clusters.id(1).unwrap(), Some(Id::Text("1".into())));
    for &(name, rule, _) in KeepRule::NAMES {
        let mut kept = Vec::new();
        clusters
            .for_each_document(rule, |fate, document| {
                kept.extend((fate == Fate::Keep).then_some(document));
                Ok::<(), Error>(())
            })
            .unwrap();
        let expected = match rule {
            KeepRule::Representative | KeepRule::First => vec![0],
            KeepRule::SmallestId => vec![2],
            KeepRule::LargestCluster => vec![0, 1, 2],
        };
        assert_eq!(kept, expected, "{name}");
    }
}

#[test]
fn cluster_numbers_are_kept() {
    let documents = documents(100, 12);
    let mut clusters = clusters(&documents, 0.7, &options(4), ClusterMethod::Components);
    let of = |clusters: &ConfirmedClusters| {
        let mut numbers = vec![None; documents.len()];
        for cluster in list(clusters) {
            for member in &cluster.members {
                member.documents.iter().for_each(|&d| numbers[d as usize] = Some(cluster.number));
            }
        }
        numbers
    };
    let plain = of(&clusters);
    let shifted = |number: u64| 100 - number;
    let earlier = |_, document: u32, _| Ok::<_, Error>(plain[document as usize].map(shifted));
    clusters.keep_numbers(100, earlier).unwrap();
    let expected: Vec<_> = plain.iter().map(|number| number.map(shifted)).collect();
    assert_eq!(of(&clusters), expected);
}
