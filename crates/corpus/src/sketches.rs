//! Step 2 with a least similarity and a store: documents are near-duplicates if their sketches are
//! similar.

use super::bar::{Bars, Decided, set_bar};
use super::dropped::{Dropped, KeptDocument};
use super::error::Result;
use super::features::tell_unlike;
use super::number::Number;
use super::ranking::ComparedDocuments;
use super::spool::Spools;
use super::work::Work;
use fpstore::join::confirm::{lead_sketches, sketch_similarity};
use fpstore::join::{BatchMode, search_many};
use fpstore::rows::Reason;
use fpstore::{Answer, Limits, Store};
use fpstore_base::Fingerprint;
use fpstore_disk::{ScratchFile, ScratchFolder};

/// The sketches of all documents, in a temporary file.
struct SketchFile {
    file: ScratchFile,
    /// The length of a sketch, which is the sketch length of the store.
    len: usize,
}

impl SketchFile {
    fn of(spools: &Spools, folder: &ScratchFolder, len: usize) -> Result<Self> {
        const BUFFER_LEN: usize = 1 << 16;
        let mut file = ScratchFile::create(folder)?;
        let mut buffer = Vec::with_capacity(BUFFER_LEN);
        spools.each(|_, entry| {
            buffer.extend_from_slice(entry.sketch);
            if buffer.len() >= BUFFER_LEN {
                file.append(&buffer)?;
                buffer.clear();
            }
            Ok(())
        })?;
        file.append(&buffer)?;
        Ok(SketchFile { file, len })
    }

    fn read(&self, number: Number, sketch: &mut Vec<u8>) -> fpstore::Result<()> {
        sketch.resize(self.len, 0);
        Ok(self.file.read_at(sketch, number.index() as u64 * self.len as u64)?)
    }
}

/// Finds the documents that are similar to a stored or a kept document.
pub(super) fn by_sketches(
    work: &Work<'_>,
    spools: &Spools,
    compared: &ComparedDocuments,
    stored: &Store,
    threshold: f64,
) -> Result<Decided> {
    let folder = ScratchFolder::new(work.temp_dir.clone());
    let sketches = SketchFile::of(spools, &folder, stored.sketch_len().into())?;
    let (mut numbers, mut fingerprints) = (Vec::new(), Vec::with_capacity(spools.len()));
    spools.each(|number, entry| {
        if compared.has(number) {
            numbers.push(number);
            fingerprints.push(entry.fingerprint);
        }
        Ok(())
    })?;
    let options = work.join_options(work.k);
    let (limits, mode) = (Limits::default(), BatchMode::Auto);
    let bars = Bars::Similarity(threshold);
    let mut is_told = false;
    set_bar(bars, work.settings.target, spools, compared, |bar| {
        let mut list = Vec::new();
        let (mut is_dropped, mut sketch) = (vec![false; spools.len()], Vec::new());
        search_many(stored, &fingerprints, &options, &limits, mode, |at, answer| {
            if answer.is_empty() {
                return Ok(());
            }
            let number = numbers[at];
            sketches.read(number, &mut sketch)?;
            let best = most_similar(number, &sketch, &answer, bar)?;
            is_dropped[number.index()] = best.is_some();
            list.extend(best);
            Ok::<(), fpstore::Error>(())
        })?;
        if !work.settings.is_within() {
            return Ok(list);
        }

        let rest: Vec<Number> =
            compared.numbers().filter(|number| !is_dropped[number.index()]).collect();
        let place = |number: Number| numbers.partition_point(|other| *other < number);
        let values: Vec<u64> =
            rest.iter().map(|&number| fingerprints[place(number)].value()).collect();
        let read = |at: u32, sketch: &mut Vec<u8>| sketches.read(rest[at as usize], sketch);
        let expect = |expected| tell_unlike(work, expected, &mut is_told);
        let (led, _) = lead_sketches(&values, &read, bar, &options, expect)?;
        list.extend(led.iter().map(|led| Dropped {
            number: rest[led.set as usize],
            other: KeptDocument::New(rest[led.leader as usize]),
            other_fingerprint: Fingerprint::new(values[led.leader as usize]),
            similarity: Some(led.similarity),
            reason: Reason::Confirmed,
        }));
        Ok(list)
    })
}

/// Drops a document because of the most similar stored document, of equally similar ones the
/// nearest; `None` if all stored documents are less similar than `threshold`.
fn most_similar(
    number: Number,
    sketch: &[u8],
    answer: &Answer<'_>,
    threshold: f64,
) -> fpstore::Result<Option<Dropped>> {
    let mut best: Option<(f64, Fingerprint, KeptDocument)> = None;
    for (store, hit) in answer.hits().flat_map(|hit| hit.stores()) {
        let mut others = hit.ids();
        while let Some(other) = others.next() {
            let other = other?;
            let similarity = sketch_similarity(sketch, others.sketch());
            let least = best.as_ref().map_or(-1.0, |(similarity, ..)| *similarity);
            if similarity >= threshold && similarity > least {
                let other = KeptDocument::Stored(Some(other.to_id()), store);
                best = Some((similarity, hit.fingerprint(), other));
            }
        }
    }
    Ok(best.map(|(similarity, other_fingerprint, other)| Dropped {
        number,
        other,
        other_fingerprint,
        similarity: Some(similarity),
        reason: Reason::Confirmed,
    }))
}
