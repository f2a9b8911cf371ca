//! Canonical forms of addresses (URLs), and documents that share an address.

use std::hash::Hasher;

use siphasher::sip128::{Hasher128, SipHasher13};

use super::error::Result;
use super::ranking::{Namesake, Rank, Ranking};
use super::spool::Spools;
use super::work::Work;
use fpstore::rows::Reason;
use fpstore_base::fields::is_missing;

/// Query parameters that track visitors and do not select a page. Parameters whose names begin with
/// `utm_` count as tracking parameters, too.
const TRACKING: [&str; 20] = [
    "_ga",
    "_gl",
    "dclid",
    "fbclid",
    "gbraid",
    "gclid",
    "gclsrc",
    "igshid",
    "jsessionid",
    "li_fat_id",
    "mc_cid",
    "mc_eid",
    "mkt_tok",
    "msclkid",
    "phpsessid",
    "ttclid",
    "twclid",
    "vero_id",
    "wbraid",
    "yclid",
];

/// The canonical form of an address; `None` if the text names no page: a placeholder of a missing
/// value such as `NULL`, a text without letters and digits, a fragment, `about:` and `javascript:`,
/// or a web address without a host.
///
/// Common spellings of the address of one page have the same canonical form:
///
/// * The schemes `http` and `https` are removed, so they are equal; other schemes are converted to
///   lower case.
/// * The host is converted to lower case; a dot at its end and the default port are removed.
/// * The fragment is removed unless it begins with `!` or `/`: such fragments select pages.
/// * Slashes at the end of the path are removed.
/// * Tracking parameters are removed: `utm_*`, `gclid`, `fbclid`, `msclkid`, session ids and
///   similar ones. The other parameters keep their order.
/// * Percent-encoded letters, digits and `-._~` are decoded; the digits of other codes are
///   converted to upper case.
///
/// All other differences are kept, such as `www` in the host or the order of parameters. From a
/// text without `://`, such as a DOI, only surrounding white space is removed.
///
/// # Examples
///
/// ```
/// use fpstore_corpus::canonical_address;
///
/// let form = canonical_address("HTTP://Example.com:80/a%7eb/?utm_source=x&id=7#top");
/// assert_eq!(form.as_deref(), Some("example.com/a~b?id=7"));
/// assert_eq!(form, canonical_address(" https://example.com/a~b?id=7 "));
/// assert_ne!(form, canonical_address("https://example.com/a~b?id=8"));
/// ```
pub fn canonical_address(address: &str) -> Option<String> {
    let address = address.trim();
    let scheme = address.split_once(':').map_or("", |it| it.0).to_ascii_lowercase();
    if is_missing(address)
        || !address.contains(char::is_alphanumeric)
        || address.starts_with('#')
        || address.trim_end_matches('/').ends_with(':')
        || ["about", "javascript"].contains(&&*scheme)
    {
        return None;
    }
    let Some((scheme, rest)) = address.split_once("://") else { return Some(address.into()) };
    let scheme = scheme.to_ascii_lowercase();
    let (rest, fragment) = rest.split_once('#').unwrap_or((rest, ""));
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let default_port = match scheme.as_str() {
        "http" => ":80",
        "https" => ":443",
        "ftp" => ":21",
        _ => "",
    };
    let needs_host = !default_port.is_empty();

    let mut form = String::with_capacity(address.len());
    if scheme != "http" && scheme != "https" {
        form.push_str(&scheme);
        form.push_str("://");
    }
    let (user, host) = match authority.rsplit_once('@') {
        Some((user, host)) => (Some(user), host),
        None => (None, authority),
    };
    if let Some(user) = user {
        form.push_str(user);
        form.push('@');
    }
    let host = host.strip_suffix(default_port).unwrap_or(host).trim_end_matches(['.', ':']);
    if needs_host && is_missing(host) {
        return None;
    }
    form.push_str(&host.to_lowercase());
    push_plain(path.trim_end_matches('/'), &mut form);
    let mut separator = '?';
    let mut plain = String::new();
    for parameter in query.split('&').filter(|parameter| !parameter.is_empty()) {
        plain.clear();
        push_plain(parameter, &mut plain);
        if !is_tracking(plain.split('=').next().unwrap_or_default()) {
            form.push(separator);
            form.push_str(&plain);
            separator = '&';
        }
    }
    if fragment.starts_with(['!', '/']) {
        form.push('#');
        push_plain(fragment, &mut form);
    }
    Some(form)
}

fn is_tracking(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    name.starts_with("utm_") || TRACKING.binary_search(&name.as_str()).is_ok()
}

/// Appends a part of an address, with needless percent-encodings decoded (RFC 3986, 6.2.2).
fn push_plain(part: &str, form: &mut String) {
    let mut rest = part;
    while let Some(at) = rest.find('%') {
        let (before, code) = rest.split_at(at);
        form.push_str(before);
        let byte = code.get(1..3).filter(|digits| digits.bytes().all(|it| it.is_ascii_hexdigit()));
        let Some(byte) = byte.and_then(|digits| u8::from_str_radix(digits, 16).ok()) else {
            form.push('%');
            rest = &code[1..];
            continue;
        };
        match byte {
            b'-' | b'.' | b'_' | b'~' => form.push(byte.into()),
            byte if byte.is_ascii_alphanumeric() => form.push(byte.into()),
            byte => form.push_str(&format!("%{byte:02X}")),
        }
        rest = &code[3..];
    }
    form.push_str(rest);
}

/// The digest of the canonical form of an address, never 0; `None` if there is no canonical form.
pub(super) fn address_digest(address: &str) -> Option<u128> {
    let form = canonical_address(address)?;
    let mut hasher = SipHasher13::new();
    hasher.write(form.as_bytes());
    Some(hasher.finish128().as_u128().max(1))
}

/// The documents with the same address as a better-ranked document, sorted by document number.
pub(super) fn namesakes(
    work: &Work<'_>,
    spools: &Spools,
    ranking: &Ranking,
) -> Result<Vec<Namesake>> {
    if work.settings.judged_url_field().is_none() {
        return Ok(Vec::new());
    }
    let mut list: Vec<(u128, Rank, u64)> = Vec::new();
    spools.each(|number, entry| {
        let fingerprint = entry.fingerprint.value();
        list.extend(entry.address.map(|it| (it, ranking.rank_of(number), fingerprint)));
        Ok(())
    })?;
    list.sort_unstable();
    let mut namesakes = Vec::new();
    for same in list.chunk_by(|one, other| one.0 == other.0) {
        let (_, best, best_fingerprint) = same[0];
        let best = ranking.number_of(best);
        namesakes.extend(same[1..].iter().map(|&(_, rank, _)| {
            let number = ranking.number_of(rank);
            Namesake { number, best, best_fingerprint, reason: Reason::Address }
        }));
    }
    namesakes.sort_unstable_by_key(|one| one.number);
    Ok(namesakes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_one_address_have_one_form() {
        for (address, form) in [
            ("http://a.b", "a.b"),
            ("https://A.B/", "a.b"),
            ("https://a.b:443/c/", "a.b/c"),
            ("https://a.b:80/c", "a.b:80/c"),
            ("http://a.b.:80//", "a.b"),
            ("http://a.b/C?x=1&UTM_Source=y&z=#f", "a.b/C?x=1&z="),
            ("http://a.b/c?gclid=1&fbclid=2&", "a.b/c"),
            ("http://a.b?x=1", "a.b?x=1"),
            ("http://a.b/#!/page", "a.b#!/page"),
            ("https://a.b/#/install", "a.b#/install"),
            ("http://A.b/#/%69nstall?id=1", "a.b#/install?id=1"),
            ("http://a.b/c?d=1#/e/", "a.b/c?d=1#/e/"),
            ("http://a.b/#section", "a.b"),
            ("http://u:P@A.b/", "u:P@a.b"),
            ("http://a.b/%7E%2f%c3%a9%zz%", "a.b/~%2F%C3%A9%zz%"),
            ("http://\u{c9}.b/\u{e9}%", "\u{e9}.b/\u{e9}%"),
            ("FTP://A.b:21/c", "ftp://a.b/c"),
            ("http://[::1]:80/x", "[::1]/x"),
            (" doi:10.1/ABC ", "doi:10.1/ABC"),
            ("file:///a/B", "file:///a/B"),
            ("https://null.org/none", "null.org/none"),
            ("/none", "/none"),
        ] {
            assert_eq!(canonical_address(address).as_deref(), Some(form), "{address}");
        }
        assert!(TRACKING.is_sorted());
    }

    #[test]
    fn a_placeholder_is_no_address() {
        for text in [
            " \n",
            "NULL",
            " None",
            "\\N",
            "N/A",
            "nan",
            "-",
            "/",
            "#",
            "#top",
            "//",
            "...",
            "about:blank",
            "About:srcdoc",
            "javascript:void(0)",
            "http:",
            "http://",
            "https:///",
            "HTTP:///a",
            "http://?x=1",
            "https://:443/",
            "http://null",
            "https://undefined/a",
            "ftp:///a",
        ] {
            assert_eq!(canonical_address(text), None, "{text}");
        }
    }

    /// Canonicalising a canonical form changes nothing.
    #[test]
    fn a_form_stays_as_it_is() {
        for address in
            ["http://a.b/%25%37", "https://x/?%75tm_a=1", "http://a/?a=%26", "gopher://A"]
        {
            let form = canonical_address(address).unwrap();
            let scheme = if form.contains("://") { "" } else { "http://" };
            assert_eq!(canonical_address(&format!("{scheme}{form}")), Some(form));
        }
    }
}
