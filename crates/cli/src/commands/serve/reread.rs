//! The files that SIGHUP has read again: tokens, and judged pairs.

use std::path::PathBuf;

use anyhow::bail;
use clap::Args;
use fpstore::join::JudgedPairs;
use fpstore_server::Tokens;

use crate::run::labels::read_judged;

/// The files of tokens.
#[derive(Args, Clone, Debug)]
pub(super) struct TokenArgs {
    /// Tokens of those who may read, one on each line
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// Tokens of those who may write; they may read too
    #[arg(long, value_name = "FILE")]
    pub(super) write_token_file: Option<PathBuf>,
}

impl TokenArgs {
    pub(super) fn open(&self) -> fpstore::Result<Tokens> {
        Tokens::open(self.token_file.as_deref(), self.write_token_file.as_deref())
    }
}

/// The file of judged pairs.
#[derive(Args, Clone, Debug)]
pub(super) struct PairsArg {
    /// Pairs that people have judged: no item is near what is different from it (id, id and 0)
    #[arg(long, value_name = "FILE", requires = "writable")]
    pairs: Option<PathBuf>,
}

impl PairsArg {
    /// Reads the pairs, if there is a file of them.
    pub(super) fn read(&self) -> anyhow::Result<Option<JudgedPairs>> {
        match &self.pairs {
            Some(file) if file.as_os_str() == "-" => {
                bail!("--pairs is read again on SIGHUP, and standard input cannot be; name a file")
            }
            file => file.as_deref().map(read_judged).transpose(),
        }
    }
}
