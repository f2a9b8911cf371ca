//! The first lines of an input, which decide how it is read.

/// The maximum number of sampled lines.
const SAMPLE_COUNT: usize = 100;
/// The maximum number of sampled bytes.
const SAMPLE_LEN: usize = 1 << 18;
/// A sampled line, neither blank nor a comment.
pub(super) struct Line<'a> {
    pub(super) text: &'a str,
    /// The length of the input up to the end of the line.
    pub(super) end: usize,
    /// The line number, counted from 1.
    pub(super) number: usize,
}

/// The sampled lines, and whether the sample is complete.
pub(super) fn sample(bytes: &[u8], is_whole: bool) -> (Vec<Line<'_>>, bool) {
    let mut lines = Vec::new();
    let is_whole = is_whole || bytes.len() >= SAMPLE_LEN;
    let bytes = &bytes[..bytes.len().min(SAMPLE_LEN)];
    let mut end = 0;
    for (at, line) in bytes.split_inclusive(|byte| *byte == b'\n').enumerate() {
        end += line.len();
        let is_cut = !line.ends_with(b"\n") && (!is_whole || bytes.len() == SAMPLE_LEN);
        if is_cut {
            break;
        }
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let line = if at == 0 { line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line) } else { line };
        // A line that is not UTF-8 is a bad record, and it ends the sample.
        let Ok(text) = str::from_utf8(line) else { return (lines, true) };
        let trimmed = text.trim_start_matches(' ');
        if !trimmed.is_empty() && !trimmed.starts_with('#') {
            lines.push(Line { text, end, number: at + 1 });
        }
        if lines.len() == SAMPLE_COUNT {
            return (lines, true);
        }
    }
    (lines, is_whole)
}
