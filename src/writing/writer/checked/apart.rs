//! Checks that obey judged pairs: what is judged different from a record is not near it.

use super::{CheckedWriter, Verdict, judge};
use crate::base::error::Result;
use crate::base::judged::JudgedPairs;
use crate::search::{Hit, Limits, Searcher};
use crate::writing::writer::NewRecord;
use fpstore_base::Fingerprint;

/// A record that people have judged different from others.
pub(crate) struct Apart<'a> {
    judged: &'a JudgedPairs,
    id: String,
}

impl<'a> Apart<'a> {
    /// `None` if the record has no id, or is judged different from none.
    pub(crate) fn of(record: &NewRecord, judged: &'a JudgedPairs) -> Option<Self> {
        if judged.different_count() == 0 {
            return None;
        }
        let id = record.id.as_ref()?.to_string();
        judged.has_different(&id).then_some(Apart { judged, id })
    }

    /// Whether the record is judged different from the one with another id.
    pub(crate) fn is_from(&self, id: &str) -> bool {
        self.judged.are_different(&self.id, id)
    }

    pub(super) fn is_from_record(&self, other: &NewRecord) -> bool {
        other.id.as_ref().is_some_and(|id| self.is_from(&id.to_string()))
    }

    /// Whether the record is judged different from all that have a stored fingerprint. Those without
    /// an id are judged by nobody.
    fn is_from_all(&self, hit: Hit<'_>) -> Result<bool> {
        let mut any = false;
        for id in hit.ids() {
            any = true;
            if !self.is_from(&id?.to_string()) {
                return Ok(false);
            }
        }
        Ok(any)
    }
}

/// Where the nearest hit is that counts.
enum Place {
    /// The position among the `count` nearest hits.
    At {
        at: usize,
        count: usize,
    },
    None,
    Cut,
}

/// Looks for the nearest hit within `k` bits from which the record is not apart. The hits that do not
/// count have ids that are judged, of which there are few, so that the first search mostly is enough.
fn place_of(
    searcher: &mut Searcher,
    record: &NewRecord,
    k: u32,
    limits: &Limits,
    apart: &Apart<'_>,
) -> Result<Place> {
    let mut count = 1;
    let mut passed = 0;
    loop {
        let answer = searcher.nearest_with(record.fingerprint, count, k, limits)?;
        if answer.outcome().cut {
            return Ok(Place::Cut);
        }
        for (at, hit) in answer.hits().enumerate().skip(passed) {
            if !apart.is_from_all(hit)? {
                return Ok(Place::At { at, count });
            }
        }
        passed = answer.hits().count();
        if passed < count {
            return Ok(Place::None);
        }
        count *= 2;
    }
}

impl CheckedWriter {
    /// As [`CheckedWriter::check_and_add_with`], but what is judged different from the record by its
    /// id does not count as near, whether it is stored or pending. A stored fingerprint counts as
    /// long as one of its ids is not judged different, or it has none. Pairs that are judged to be
    /// duplicates are not looked at.
    ///
    /// # Errors
    ///
    /// As [`CheckedWriter::check_and_add`].
    ///
    /// # Examples
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("pages.fps");
    /// # fpstore::Builder::new(&path)?.finish()?;
    /// use fpstore::join::{JudgedPairs, LabelFile};
    /// use fpstore::writer::{CheckedWriter, NewRecord, Verdict};
    /// use fpstore::{Id, Limits, WriterOptions};
    ///
    /// let pairs = JudgedPairs::new(&LabelFile::parse("1\t2\t0\n")?)?;
    /// let mut writer = CheckedWriter::new(&path, WriterOptions::default());
    /// for number in 1..4 {
    ///     let record = NewRecord::new(0xc0f1.into(), Id::U64(number));
    ///     let verdict = writer.check_and_add_judged(&record, 3, &Limits::default(), &pairs)?;
    ///     assert_eq!(matches!(verdict, Verdict::Added), number < 3);
    /// }
    /// # Ok(()) }
    /// ```
    pub fn check_and_add_judged(
        &mut self,
        record: &NewRecord,
        k: u32,
        limits: &Limits,
        pairs: &JudgedPairs,
    ) -> Result<Verdict<'_>> {
        let Some(apart) = Apart::of(record, pairs) else {
            return self.check_and_add_with(record, k, limits);
        };
        let (writer, searcher, pending) = self.turn()?;
        let (at, count) = match place_of(searcher, record, k, limits, &apart)? {
            Place::At { at, count } => (at, count),
            Place::None => return judge(writer, pending, record, k, None, Some(&apart)),
            Place::Cut => return Ok(Verdict::Cut),
        };
        // A second time, because the answer cannot be given back from inside a loop.
        let answer = searcher.nearest_with(record.fingerprint, count, k, limits)?;
        if answer.outcome().cut {
            return Ok(Verdict::Cut);
        }
        let stored = answer.hits().nth(at);
        judge(writer, pending, record, k, stored, Some(&apart))
    }

    /// As [`CheckedWriter::check_and_add_judged`], where `nearest` is known to be the nearest stored
    /// fingerprint in the state of this turn, judged or not. Only where that does not count, the
    /// store is searched. The distance of a stored hit is as in [`CheckedWriter::add_compared`].
    #[cfg(feature = "serve")]
    pub(crate) fn add_compared_judged(
        &mut self,
        record: &NewRecord,
        k: u32,
        nearest: Option<Fingerprint>,
        limits: &Limits,
        pairs: &JudgedPairs,
    ) -> Result<Verdict<'_>> {
        let Some(apart) = Apart::of(record, pairs) else {
            return self.add_compared(record, k, nearest, None);
        };
        if let Some(nearest) = nearest {
            let (_, searcher, _) = self.turn()?;
            let hit = searcher.search(nearest, 0)?.hits().next();
            if hit.map_or(Ok(false), |hit| apart.is_from_all(hit))? {
                return self.check_and_add_judged(record, k, limits, pairs);
            }
        }
        self.add_compared(record, k, nearest, Some(&apart))
    }
}
