//! Decides which kind of ids can be added to a store: the kind that the user requested, or the kind
//! of ids that the store already contains.

use fpstore::{IdKind, IdPolicy, IdRef};
use pyo3::prelude::*;

use crate::errors::{Failure, input_error};
use crate::input::ids::Ids;

/// The rule for the kind of ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IdRule {
    /// The kind is still open: the first ids decide it.
    Open,
    /// The user named a kind; ids of the other kind are converted.
    Asked(IdPolicy),
    /// The store contains numbers; texts are refused.
    Numbers,
    /// The store contains texts; numbers become texts.
    Texts,
}

impl IdRule {
    /// The rule that `id_type` names.
    pub(crate) fn named(py: Python<'_>, id_type: &str) -> PyResult<Self> {
        match id_type {
            "auto" => Ok(IdRule::Open),
            "int" => Ok(IdRule::Asked(IdPolicy::U64)),
            "str" => Ok(IdRule::Asked(IdPolicy::Text)),
            other => {
                let message = format!("id_type is '{other}', expected 'auto', 'int' or 'str'");
                Err(input_error(py, message))
            }
        }
    }

    /// The rule for a store with ids of the kind `kept`, unless the user named a kind.
    pub(crate) fn beside(self, kept: IdKind) -> Self {
        match (self, kept) {
            (IdRule::Open, IdKind::Text) => IdRule::Texts,
            (IdRule::Open, IdKind::U64) => IdRule::Numbers,
            _ => self,
        }
    }

    /// The rule for the records after `ids`: an open kind becomes the kind of `ids`.
    pub(crate) fn after(self, ids: Option<&Ids>) -> Self {
        match (self, ids) {
            (IdRule::Open, Some(Ids::Numbers(_))) => IdRule::Numbers,
            (IdRule::Open, Some(Ids::Texts(_))) => IdRule::Texts,
            _ => self,
        }
    }

    /// The kind of the stored ids, `IdKind::None` if it is unknown.
    pub(crate) fn kind(self) -> IdKind {
        match self {
            IdRule::Asked(IdPolicy::Text) | IdRule::Texts => IdKind::Text,
            IdRule::Asked(IdPolicy::U64) | IdRule::Numbers => IdKind::U64,
            IdRule::Asked(_) | IdRule::Open => IdKind::None,
        }
    }

    pub(crate) fn policy(self) -> IdPolicy {
        match self {
            IdRule::Asked(policy) => policy,
            IdRule::Texts => IdPolicy::Text,
            IdRule::Open | IdRule::Numbers => IdPolicy::Auto,
        }
    }

    /// Refuses invalid ids, and ids whose kind does not fit the rule.
    pub(crate) fn check(self, ids: Option<&Ids>) -> Result<(), Failure> {
        let Some(ids) = ids else { return Ok(()) };
        for (at, id) in ids.iter().enumerate() {
            let IdRef::Text(text) = id else { return Ok(()) };
            let refused = |why: &str| {
                let shown: String = text.chars().take(40).flat_map(char::escape_debug).collect();
                Err(Failure::Input(format!("id number {at}, '{shown}'{why}")))
            };
            if let Some(fault) = IdRef::fault_of_text(text) {
                let expected = "expected 1 to 65535 bytes without NUL, CR or LF";
                return refused(&format!(": {fault}, {expected}"));
            }
            let is_number = IdRef::canonical_number(text).is_some();
            match self {
                IdRule::Asked(IdPolicy::U64) if !is_number => {
                    return refused(", is not a number, and id_type='int' was given");
                }
                IdRule::Numbers => {
                    return refused(
                        ", is a text, and the earlier ids are numbers; id_type='str' makes all ids \
                         texts, id_type='int' numbers",
                    );
                }
                // The store has no ids yet, and would convert this text to a number.
                IdRule::Open if is_number => {
                    return refused(
                        ", is a number in a text, and the earlier records have no ids; \
                         id_type='str' keeps texts, id_type='int' makes numbers",
                    );
                }
                _ => {}
            }
        }
        Ok(())
    }
}
