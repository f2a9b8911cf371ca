//! A build without pictures: the arguments are none.

use std::path::PathBuf;

use clap::Args;
use fpstore::{Error, Fingerprint, IdRef, Recipe, Store};

use crate::cli::args::resources::ResourceArgs;
use crate::cli::session::monitor::Monitor;

/// No arguments.
#[derive(Args, Debug)]
pub(in crate::cli) struct PictureArgs {}

/// There are none.
pub(in crate::cli) enum Pictures {}

impl PictureArgs {
    pub(in crate::cli) fn are_given(&self) -> bool {
        false
    }

    pub(in crate::cli) fn check(&self, _: &[PathBuf]) -> anyhow::Result<()> {
        Ok(())
    }

    pub(in crate::cli) fn of_new(&self) -> Option<(Recipe, u32)> {
        None
    }

    pub(in crate::cli) fn prepare(
        &self,
        _: Option<&Store>,
        _: bool,
        _: &ResourceArgs,
        _: &Monitor,
    ) -> anyhow::Result<Option<Pictures>> {
        Ok(None)
    }
}

impl Pictures {
    pub(in crate::cli) fn recipe(&self) -> Recipe {
        match *self {}
    }

    pub(in crate::cli) fn usual_k(&self) -> u32 {
        match *self {}
    }

    pub(in crate::cli) fn push_all(
        &self,
        _: &Monitor,
        _: bool,
        _: impl FnMut(Fingerprint, IdRef<'_>) -> Result<(), Error>,
    ) -> anyhow::Result<u64> {
        match *self {}
    }
}
