//! How fingerprints and times are spelled in JSON.

/// Fingerprints as 16 hex digits.
pub(super) mod hex {
    use std::borrow::Cow;

    use fpstore_base::{Fingerprint, Radix};
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(crate) fn serialize<S: Serializer>(value: &Fingerprint, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(value)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Fingerprint, D::Error> {
        Fingerprint::parse(&Cow::<str>::deserialize(from)?, Radix::Hex).map_err(D::Error::custom)
    }

    /// Lists of them.
    pub(crate) mod list {
        use fpstore_base::Fingerprint;
        use serde::{Deserialize, Deserializer, Serialize, Serializer};

        #[derive(Deserialize, Serialize)]
        struct Hex(#[serde(with = "super")] Fingerprint);

        pub(crate) fn serialize<S: Serializer>(
            values: &[Fingerprint],
            to: S,
        ) -> Result<S::Ok, S::Error> {
            to.collect_seq(values.iter().map(|&value| Hex(value)))
        }

        pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
            from: D,
        ) -> Result<Vec<Fingerprint>, D::Error> {
            let values = Vec::<Hex>::deserialize(from)?;
            Ok(values.into_iter().map(|Hex(value)| value).collect())
        }
    }
}

/// Times as whole milliseconds.
pub(super) mod millis {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serializer};

    pub(crate) fn serialize<S: Serializer>(time: &Duration, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_u64(u64::try_from(time.as_millis()).unwrap_or(u64::MAX))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
        u64::deserialize(from).map(Duration::from_millis)
    }
}
