//! Checks and additions that respect labelled pairs.

use super::apart::{Apart, Place, place_of};
use super::{CheckedWriter, Verdict, judge};
use crate::base::error::Result;
use crate::base::judged::JudgedPairs;
use crate::search::Limits;
use crate::writing::writer::NewRecord;
use fpstore_base::Fingerprint;

impl CheckedWriter {
    /// Like [`CheckedWriter::check_and_add`], but with limits, such as a deadline, and with
    /// labelled pairs. Records labelled different from the given record by its id are not
    /// considered near, whether they are stored or pending. A stored fingerprint is considered if
    /// it has no ids, or an id that is not labelled different. Pairs labelled as duplicates are
    /// ignored. If the limits cut the search, the verdict is [`Verdict::Cut`].
    ///
    /// # Errors
    ///
    /// The same as [`CheckedWriter::check_and_add`].
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
        // Searches a second time: the borrow checker allows no loop that returns its answer.
        let answer = searcher.nearest_with(record.fingerprint, count, k, limits)?;
        if answer.outcome().cut {
            return Ok(Verdict::Cut);
        }
        let stored = answer.hits().nth(at);
        judge(writer, pending, record, k, stored, Some(&apart))
    }

    /// Like [`CheckedWriter::check_and_add_judged`], but takes `nearest`, the nearest stored
    /// fingerprint in the snapshot of this turn, labelled or not. The store is searched only if
    /// `nearest` is labelled different. The hit of [`Verdict::Stored`] has distance 0, because
    /// `nearest` is searched.
    pub fn add_compared_judged(
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
