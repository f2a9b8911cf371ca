//! Checks the version in the first line of a text format, such as `join-plan 1`. An unsupported
//! version and a wrong kind of text get different messages, because the fix differs.

/// The reason for rejecting a text of the kind in `title`, but with another version; `None` for
/// every other text. `remedy` is appended as advice.
pub(crate) fn fault_of_version(text: &str, title: &str, remedy: &str) -> Option<String> {
    let (kind, version) = title.rsplit_once(' ')?;
    let found = text.trim_start().strip_prefix(kind)?.strip_prefix(' ')?;
    let found = found.split_whitespace().next()?;
    let is_other = found != version && found.bytes().all(|byte| byte.is_ascii_digit());
    is_other.then(|| {
        let program = env!("CARGO_PKG_VERSION");
        format!("it has version {found}, fpstore {program} reads version {version}; {remedy}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_version_is_told_from_another_kind() {
        let fault = |text| fault_of_version(text, "segment 1", "write it again");
        let fault_of_two = fault("segment 2 digest=00\n").unwrap();
        assert!(fault_of_two.starts_with("it has version 2, fpstore "), "{fault_of_two}");
        assert!(fault_of_two.ends_with(" reads version 1; write it again"), "{fault_of_two}");
        for other in ["", "segment", "segment 1", "segment 1 digest=00", "segment x", "plan 2"] {
            assert_eq!(fault(other), None, "{other}");
        }
    }
}
