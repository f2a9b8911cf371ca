//! Cells of comma-separated values, as RFC 4180 has them.

/// Adds a cell. One with a comma, a quote or the end of a line stands in quotes, and quotes in it are
/// doubled.
pub(crate) fn push(out: &mut Vec<u8>, cell: &str) {
    if !cell.contains([',', '"', '\n', '\r']) {
        return out.extend_from_slice(cell.as_bytes());
    }
    out.push(b'"');
    out.extend_from_slice(cell.replace('"', "\"\"").as_bytes());
    out.push(b'"');
}

#[cfg(test)]
mod tests {
    #[test]
    fn cells_with_signs_of_the_format_are_quoted() {
        let cell = |text: &str| {
            let mut out = Vec::new();
            super::push(&mut out, text);
            String::from_utf8(out).unwrap()
        };
        assert_eq!(cell("a b"), "a b");
        assert_eq!(cell("a,b"), "\"a,b\"");
        assert_eq!(cell("say \"no\""), "\"say \"\"no\"\"\"");
        assert_eq!(cell("a\nb"), "\"a\nb\"");
    }
}
