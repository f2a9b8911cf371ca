//! The clusters of an earlier run, read from the output of `cluster`.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use anyhow::{Context, bail};
use fpstore::Fingerprint;
use serde::Deserialize;

/// The earlier cluster of each document.
pub(super) struct Previous {
    by_id: HashMap<String, u64>,
    /// For documents without ids.
    by_fingerprint: HashMap<Fingerprint, u64>,
    last: u64,
}

#[derive(Deserialize)]
struct JsonCluster {
    cluster: u64,
    members: Vec<JsonMember>,
}

#[derive(Deserialize)]
struct JsonMember {
    fingerprint: String,
    ids: Vec<String>,
}

impl Previous {
    /// Reads the lines or the JSON lines of an earlier run.
    pub(super) fn read(path: &Path) -> anyhow::Result<Self> {
        let file = File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
        let mut previous =
            Previous { by_id: HashMap::new(), by_fingerprint: HashMap::new(), last: 0 };
        for (number, line) in (1..).zip(BufReader::new(file).lines()) {
            let place = || format!("{}: line {number}", path.display());
            let line = line.with_context(place)?;
            if line.starts_with('{') {
                previous.take_object(&line).with_context(place)?;
            } else {
                previous.take_line(&line).with_context(place)?;
            }
        }
        Ok(previous)
    }

    fn take_object(&mut self, line: &str) -> anyhow::Result<()> {
        let cluster: JsonCluster = serde_json::from_str(line)?;
        for member in cluster.members {
            if member.ids.is_empty() {
                self.insert(cluster.cluster, member.fingerprint.parse()?, "");
            }
            for id in member.ids {
                self.insert(cluster.cluster, Fingerprint::default(), &id);
            }
        }
        Ok(())
    }

    fn take_line(&mut self, line: &str) -> anyhow::Result<()> {
        let mut columns: Vec<&str> = line.splitn(7, '\t').collect();
        // Where features were compared, a similarity comes before the fingerprint. An id is the
        // rest of the line, tabs included.
        if columns.get(4).is_some_and(|column| column.contains('.')) {
            columns.remove(4);
        } else {
            columns = line.splitn(6, '\t').collect();
        }
        let [cluster, _, _, _, fingerprint, id] = columns.as_slice() else {
            bail!(
                "{} columns, expected cluster, size, diameter, distance, fingerprint and id",
                columns.len()
            );
        };
        let cluster =
            cluster.parse().with_context(|| format!("'{cluster}' is not a cluster number"))?;
        self.insert(cluster, fingerprint.parse()?, id);
        Ok(())
    }

    fn insert(&mut self, cluster: u64, fingerprint: Fingerprint, id: &str) {
        self.last = self.last.max(cluster);
        match id {
            "" => self.by_fingerprint.insert(fingerprint, cluster),
            id => self.by_id.insert(id.into(), cluster),
        };
    }

    /// The largest number of a cluster.
    pub(super) fn last(&self) -> u64 {
        self.last
    }

    /// The earlier cluster of a document, if it had one.
    pub(super) fn number(&self, fingerprint: Fingerprint, id: Option<&str>) -> Option<u64> {
        match id {
            Some(id) => self.by_id.get(id).copied(),
            None => self.by_fingerprint.get(&fingerprint).copied(),
        }
    }
}
