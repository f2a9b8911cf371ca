//! Names of the parts of files, and positions in them: table, rank, block.

use std::fmt;

/// The position of a table in its segment, counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct TableIndex(pub u16);

/// The position of a store among the stores that are queried together, counted from 0 in the given
/// order; 0 for a single store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StoreIndex(pub usize);

/// The position of a value in the ascending order of its table, counted from 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[repr(transparent)]
pub(crate) struct Rank(pub(crate) u64);

/// The number of a block in its table: the leading bits that its values have in common.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct BlockIndex(pub(crate) u64);

/// A part of the files of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Section {
    /// The manifest of the store, a separate file.
    Manifest,
    /// The deletions of a segment, a separate file.
    Deletions,
    /// The header of a segment with its table descriptors and section directory.
    Header,
    /// The recipe text.
    Recipe,
    /// The prefix index of a table.
    PrefixIndex(TableIndex),
    /// The overflow entries of the prefix index of a table.
    OverflowEntries(TableIndex),
    /// The tails of a table.
    Tails(TableIndex),
    /// The heads of a table.
    Heads(TableIndex),
    /// The offsets at which the groups of id records start.
    IdGroups,
    /// The id records.
    IdRecords,
    /// The checksums of all pages.
    Checksums,
}

impl Section {
    /// The table of the section, if it has one.
    pub fn table(self) -> Option<TableIndex> {
        match self {
            Section::PrefixIndex(t)
            | Section::OverflowEntries(t)
            | Section::Tails(t)
            | Section::Heads(t) => Some(t),
            _ => None,
        }
    }
}

impl fmt::Display for Section {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Section::Manifest => "manifest",
            Section::Deletions => "deletion file",
            Section::Header => "header",
            Section::Recipe => "recipe",
            Section::PrefixIndex(_) => "prefix index",
            Section::OverflowEntries(_) => "overflow entries",
            Section::Tails(_) => "tails",
            Section::Heads(_) => "heads",
            Section::IdGroups => "id groups",
            Section::IdRecords => "id records",
            Section::Checksums => "checksums",
        })?;
        match self.table() {
            Some(TableIndex(table)) => write!(f, " of table {table}"),
            None => Ok(()),
        }
    }
}
