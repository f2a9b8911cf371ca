//! Templates for the addresses of links and pictures, such as `https://example.org/{id}`.
//!
//! The script of the page replaces `{id}` by the id of a document. Ids are untrusted, so the script
//! escapes them, and makes links only to addresses with the scheme http, https or file.

use std::str::FromStr;

/// The URL schemes that a template may have.
const SCHEMES: [&str; 3] = ["https", "http", "file"];
const PLACEHOLDERS: [&str; 2] = ["{id}", "{fingerprint}"];

/// A template for the addresses of links or pictures, which contains `{id}` or `{fingerprint}`.
///
/// ```
/// use fpstore_report::page::Template;
///
/// assert!("https://example.org/{id}".parse::<Template>().is_ok());
/// assert!("javascript:alert({id})".parse::<Template>().is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template(String);

impl Template {
    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    /// The sources of pictures that the content security policy of the page must allow.
    pub(super) fn sources(&self) -> String {
        let Some((scheme, rest)) = self.scheme() else {
            return match self.0.starts_with(PLACEHOLDERS[0]) {
                true => "https: http: file: 'self'".into(),
                false => "'self' file:".into(),
            };
        };
        let host = rest.trim_start_matches('/').split(['/', '?', '#']).next().unwrap_or_default();
        let is_plain = |c: char| c.is_ascii_alphanumeric() || ".-:".contains(c);
        match scheme != "file" && !host.is_empty() && host.chars().all(is_plain) {
            true => format!("{scheme}://{host}"),
            false => format!("{scheme}:"),
        }
    }

    /// The URL scheme and the rest of the template; `None` if the template is a relative path.
    fn scheme(&self) -> Option<(&str, &str)> {
        let (before, after) = self.0.split_once(':')?;
        (!before.contains(['/', '?', '#', '{'])).then_some((before, after))
    }
}

impl FromStr for Template {
    /// The error message.
    type Err = String;

    /// Parses a template: a path relative to the page, or an address with the scheme http, https or
    /// file.
    fn from_str(text: &str) -> Result<Self, String> {
        let template = Template(text.into());
        let rest = PLACEHOLDERS.iter().fold(text.to_string(), |text, name| text.replace(name, ""));
        if rest.len() == text.len() {
            return Err("it has no {id}; write it where the id belongs, as in \
                        https://example.org/{id}, or {fingerprint}"
                .into());
        }
        if rest.contains(['{', '}']) {
            return Err("only {id} and {fingerprint} are allowed in braces".into());
        }
        match template.scheme() {
            Some((scheme, _)) if !SCHEMES.contains(&scheme) => Err(format!(
                "the scheme is '{scheme}', expected https, http, file, or a path relative to the \
                 page"
            )),
            _ => Ok(template),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pictures_come_from_the_place_of_the_template_alone() {
        for (template, sources) in [
            ("https://example.org:81/a/{id}.png?x", "https://example.org:81"),
            ("https://{id}.example.org/", "https:"),
            ("https://a b;script-src *;/{id}", "https:"),
            ("file:///home/me/{id}", "file:"),
            ("{id}", "https: http: file: 'self'"),
            ("pictures/{fingerprint}.jpg", "'self' file:"),
            ("../a:b/{id}", "'self' file:"),
        ] {
            assert_eq!(template.parse::<Template>().unwrap().sources(), sources, "{template}");
        }
    }

    #[test]
    fn a_template_that_cannot_work_is_refused() {
        for (template, reason) in [
            ("https://example.org/", "it has no {id}"),
            ("https://example.org/{ID}{id}", "only {id}"),
            ("javascript:alert({id})", "the scheme is 'javascript'"),
            ("data:text/html,{id}", "the scheme is 'data'"),
        ] {
            let refused = template.parse::<Template>().unwrap_err();
            assert!(refused.contains(reason), "{template}: {refused}");
        }
    }
}
