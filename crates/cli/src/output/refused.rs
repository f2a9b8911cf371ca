//! The options that help where the library refuses settings, which it knows by other names.

/// What the user can do about settings that are refused for this reason.
pub(crate) fn options_for(reason: &str) -> Option<&'static str> {
    let found = HELP.iter().find(|(part, _)| reason.contains(part));
    found.map(|(_, help)| *help)
}

/// Parts of reasons, and what helps.
const HELP: [(&str, &str); 16] = [
    ("no field of addresses is named", "--url-field names it"),
    ("documents are not compared by address", "add address to --judge, or leave out --url-field"),
    ("a store knows no addresses", "--within compares them"),
    ("what is confirmed is near", "add near to --judge, or leave out --confirm"),
    ("the distance is that of near documents", "add near to --judge, or leave out -k"),
    ("what is contained is looked for among", "--confirm names it"),
    ("does not know what its documents contain", "leave out --confirm-contains or -s"),
    ("several of a cluster would be more", "leave out --per-cluster or --target"),
    ("the target is reached by what is near, and judged", "leave out --pairs or --target"),
    ("the target is reached by what is near; judge", "add near to --judge, or leave out --target"),
    ("judged pairs are of new documents", "--within compares them"),
    ("two new fields have one name", "--annotate and --cluster-size name them"),
    ("documents that are annotated stay", "leave out --max-loss or --annotate"),
    ("which says where it comes from", "--source-field names another"),
    ("which holds its address", "--url-field names another"),
    ("by which '", "the rule of --keep names it"),
];

#[cfg(test)]
mod tests {
    use super::*;

    /// If a reason changes and its part here does not, users see no advice any more.
    #[test]
    fn each_part_stands_in_a_reason_of_the_library() {
        let sources = [
            include_str!("../../../corpus/src/work.rs"),
            include_str!("../../../corpus/src/cleaning.rs"),
            include_str!("../../../corpus/src/keep_rules.rs"),
        ];
        // Texts go on in the next line after a backslash.
        let whole = |source: &str| -> String {
            let mut lines = source.split("\\\n");
            let first = lines.next().unwrap_or_default().to_string();
            lines.fold(first, |text, line| text + line.trim_start())
        };
        let sources = sources.map(whole);
        for (part, _) in HELP {
            assert!(sources.iter().any(|source| source.contains(part)), "{part}");
        }
    }
}
