//! Reads the clusters of an earlier run from the output of `cluster`.

use std::path::Path;

use anyhow::{Context, bail};
use fpstore::Fingerprint;
use fpstore::join::EarlierClusters;
use fpstore_base::read_inputs;
use serde::Deserialize;

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

/// Reads the tab-separated lines or JSON lines of an earlier run.
pub(crate) fn read(path: &Path) -> anyhow::Result<EarlierClusters> {
    let text =
        read_inputs::read_list(path).with_context(|| format!("cannot read {}", path.display()))?;
    let mut earlier = EarlierClusters::default();
    for (number, line) in (1_u64..).zip(text.lines()) {
        let place = || format!("{}: line {number}", path.display());
        if line.starts_with('{') {
            take_object(&mut earlier, line).with_context(place)?;
        } else {
            take_line(&mut earlier, line).with_context(place)?;
        }
    }
    Ok(earlier)
}

fn take_object(earlier: &mut EarlierClusters, line: &str) -> anyhow::Result<()> {
    let cluster: JsonCluster = serde_json::from_str(line)?;
    for member in cluster.members {
        if member.ids.is_empty() {
            earlier.insert(cluster.cluster, member.fingerprint.parse()?, None);
        }
        for id in member.ids {
            earlier.insert(cluster.cluster, Fingerprint::default(), Some(&id));
        }
    }
    Ok(())
}

fn take_line(earlier: &mut EarlierClusters, line: &str) -> anyhow::Result<()> {
    let mut columns: Vec<&str> = line.splitn(7, '\t').collect();
    // If features were compared, the line has a column with a similarity, recognized by its decimal
    // point. The id is the rest of the line, and may contain tabs.
    if columns.get(4).is_some_and(|column| column.contains('.')) {
        columns.remove(4);
    } else {
        columns = line.splitn(6, '\t').collect();
    }
    let [cluster, _, _, _, fingerprint, id] = columns.as_slice() else {
        bail!(
            "the line has {} columns, expected cluster, size, diameter, distance, fingerprint, id",
            columns.len()
        );
    };
    let cluster =
        cluster.parse().with_context(|| format!("'{cluster}' is not a cluster number"))?;
    earlier.insert(cluster, fingerprint.parse()?, Some(*id).filter(|id| !id.is_empty()));
    Ok(())
}
