//! Cuts a text before white space: into pieces, and into runs of ASCII and of other characters.
//!
//! Normal forms, lower case and word boundaries on one side of ASCII white space do not depend on
//! the text on the other side, so the parts can be processed independently.

/// The length of a piece in bytes. It fits the processor's cache from step to step.
const PIECE_LEN: usize = 1 << 15;

/// The minimum length of ASCII that becomes a separate run after a run with other characters.
const ASCII_LEN_MIN: usize = 32;

/// Cuts a text before white space into pieces of about [`PIECE_LEN`].
pub(crate) fn each_piece(mut text: &str, take: &mut impl FnMut(&str)) {
    while text.len() > PIECE_LEN {
        let bytes = text.as_bytes();
        let before = bytes[..PIECE_LEN].iter().rposition(u8::is_ascii_whitespace);
        let after = || bytes[PIECE_LEN..].iter().position(u8::is_ascii_whitespace);
        let cut = match before.filter(|&cut| cut > 0) {
            Some(cut) => cut,
            None => after().map_or(text.len(), |cut| cut + PIECE_LEN),
        };
        let (piece, rest) = text.split_at(cut);
        take(piece);
        text = rest;
    }
    take(text);
}

/// Cuts a text before white space into runs, so that long runs of ASCII are separate: they are
/// processed several times as fast as other characters, which most texts in Latin letters rarely
/// contain.
pub(crate) fn each_run<'a>(mut text: &'a str, take: &mut impl FnMut(&'a str)) {
    loop {
        let bytes = text.as_bytes();
        let Some(other) = first_other(bytes) else { break };
        let start = bytes[..other].iter().rposition(u8::is_ascii_whitespace).unwrap_or(0);
        let mut end = other;
        let end = loop {
            let Some(space) = bytes[end..].iter().position(u8::is_ascii_whitespace) else {
                break bytes.len();
            };
            let space = end + space;
            let near = &bytes[space..bytes.len().min(space + ASCII_LEN_MIN)];
            match near.iter().rposition(|byte| !byte.is_ascii()) {
                None => break space,
                Some(last) => end = space + last,
            }
        };
        let (ascii, rest) = text.split_at(start);
        let (others, rest) = rest.split_at(end - start);
        if !ascii.is_empty() {
            take(ascii);
        }
        take(others);
        text = rest;
    }
    if !text.is_empty() {
        take(text);
    }
}

/// The index of the first byte that is not ASCII.
fn first_other(bytes: &[u8]) -> Option<usize> {
    let ascii = bytes.chunks(64).take_while(|chunk| chunk.is_ascii()).count() * 64;
    let rest = bytes.get(ascii..)?;
    rest.iter().position(|byte| !byte.is_ascii()).map(|place| ascii + place)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_the_text_cut_before_white_space() {
        let ascii = "seven plain words of ascii, and then ";
        let parts = ["", " ", "\n", ascii, "caf\u{e9}", "\u{4e2d}\u{6587}", "a", "\u{301}"];
        for number in 0..parts.len().pow(4) {
            let text: String =
                (0..4).map(|place| parts[number / parts.len().pow(place) % parts.len()]).collect();
            let mut whole = String::new();
            each_run(&text, &mut |run| {
                assert!(!run.is_empty());
                assert!(whole.is_empty() || run.as_bytes()[0].is_ascii_whitespace());
                whole.push_str(run);
            });
            assert_eq!(whole, text);
        }
        let mut kinds = Vec::new();
        let text = format!("{ascii}caf\u{e9} x {ascii}caf\u{e9} \u{e9}");
        each_run(&text, &mut |run| kinds.push((run.is_ascii(), run.len())));
        let len = ascii.len();
        assert_eq!(kinds, [(true, len - 1), (false, 6), (true, len + 2), (false, 9)]);
    }
}
