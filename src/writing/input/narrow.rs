//! Records of fewer than 64 bits: which values of 64 bits are fingerprints of the width.
//!
//! Every layout gives values of 64 bits. [`Narrow`] stands between it and the consumer where the width
//! is less, so that no layout knows of widths, and full ones pay nothing.

use super::layout::{ChunkPlace, RecordConsumer};
use fpstore_base::{Fingerprint, IdRef, Radix, Width};

/// Passes records of a width on, and makes bad records of those that do not fit.
pub(super) struct Narrow<'a, C> {
    pub(super) consumer: &'a mut C,
    pub(super) width: Width,
    /// The spelling of the values.
    pub(super) radix: Radix,
}

impl<C: RecordConsumer> RecordConsumer for Narrow<'_, C> {
    fn record(
        &mut self,
        place: ChunkPlace,
        fingerprint: Fingerprint,
        id: Option<IdRef<'_>>,
    ) -> bool {
        match self.width.narrowed(fingerprint, self.radix) {
            Some(fingerprint) => self.consumer.record(place, fingerprint, id),
            None => {
                let (value, width) = (fingerprint.value(), self.width);
                let reason = match self.radix {
                    Radix::SignedDecimal => {
                        format!("{} is not a signed number of {width} bits", value.cast_signed())
                    }
                    _ => format!("'{value:x}' has more than {width} bits"),
                };
                self.consumer.bad_record(place, reason)
            }
        }
    }

    fn bad_record(&mut self, place: ChunkPlace, reason: String) -> bool {
        self.consumer.bad_record(place, reason)
    }
}
