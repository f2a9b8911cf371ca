//! Documents with equal texts: finds them if only equal texts are removed, and distinguishes them
//! from other near-duplicates.

use super::dropped::{Dropped, KeptDocument};
use super::error::Result;
use super::ranking::{ComparedDocuments, Rank};
use super::reasons::Reasons;
use super::spool::Spools;
use super::work::Work;
use fpstore::rows::Reason;
use fpstore_base::Fingerprint;
use fpstore_text::TextDigests;

/// The documents whose text equals the text of a better-ranked document.
///
/// Equal digests alone are not enough: the fingerprints, made with another hash, must be equal,
/// too.
pub(super) fn by_digests(
    work: &Work<'_>,
    spools: &Spools,
    compared: &ComparedDocuments,
) -> Result<Vec<Dropped>> {
    let Reasons { bytes, text, .. } = work.reasons;
    if !(bytes || text) {
        return Ok(Vec::new());
    }
    let mut list: Vec<(u64, u64, Rank, u64)> = Vec::new();
    spools.each(|number, entry| {
        if let (true, Some(digests)) = (compared.has(number), entry.digests) {
            // Texts with the same bytes also have the same tokens, so comparing tokens finds both.
            let digest = if text { digests.features } else { digests.bytes };
            let rank = compared.ranking.rank_of(number);
            list.push((entry.fingerprint.value(), digest, rank, digests.bytes));
        }
        Ok(())
    })?;
    list.sort_unstable();
    let mut dropped = Vec::new();
    for same in list.chunk_by(|one, other| (one.0, one.1) == (other.0, other.1)) {
        let (fingerprint, _, best, bytes_of_best) = same[0];
        dropped.extend(same[1..].iter().map(|&(_, _, rank, its_bytes)| Dropped {
            number: compared.ranking.number_of(rank),
            other: KeptDocument::New(compared.ranking.number_of(best)),
            other_fingerprint: Fingerprint::new(fingerprint),
            similarity: None,
            reason: match its_bytes == bytes_of_best && bytes {
                true => Reason::Bytes,
                false => Reason::Text,
            },
        }));
    }
    Ok(dropped)
}

/// Corrects the reason for near-duplicates with equal texts, except for duplicates of stored
/// documents, whose texts are unknown.
pub(super) fn tell_equal(dropped: &mut [Dropped], reasons: Reasons, spools: &Spools) -> Result<()> {
    if !reasons.is_exact() || dropped.is_empty() {
        return Ok(());
    }
    let mut digests: Vec<Option<TextDigests>> = Vec::with_capacity(spools.len());
    spools.each(|_, entry| {
        digests.push(entry.digests);
        Ok(())
    })?;
    for one in dropped {
        let KeptDocument::New(other) = one.other else { continue };
        let (Some(own), Some(other)) = (digests[one.number.index()], digests[other.index()]) else {
            continue;
        };
        if own.bytes == other.bytes && reasons.bytes {
            one.reason = Reason::Bytes;
        } else if own.features == other.features && reasons.text {
            one.reason = Reason::Text;
        }
    }
    Ok(())
}
