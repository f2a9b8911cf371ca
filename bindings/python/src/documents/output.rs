//! The output of a call: a local file or folder, or a temporary one that is copied to an address.

use std::path::{Path, PathBuf};

use fpstore_disk::ScratchDirectory;
use pyo3::prelude::*;

use super::given::{REMOTE, is_address};
use crate::errors::Failure;

/// The destination of the kept documents.
#[derive(Default)]
pub(super) struct Output {
    /// The local file or folder, if there is an output.
    pub(super) path: Option<PathBuf>,
    /// The address to which the complete output is copied.
    address: Option<PathBuf>,
    /// Whether an output already exists at `address`.
    pub(super) is_published: bool,
    replace: bool,
    scratch: Option<ScratchDirectory>,
}

impl Output {
    /// The output in an argument. Fails if an output exists at an address already, unless `replace`
    /// or `may_exist` is set.
    pub(super) fn of(
        py: Python<'_>,
        given: Option<PathBuf>,
        replace: bool,
        may_exist: bool,
        folder: &Path,
    ) -> PyResult<Self> {
        let Some(address) = given.as_ref().filter(|path| is_address(path)) else {
            return Ok(Output { path: given, replace, ..Output::default() });
        };
        let check = if replace || may_exist { "exists" } else { "check_absent" };
        let found = py.import(REMOTE)?.call_method1(check, (address.as_os_str(),))?;
        let is_published = found.extract::<Option<bool>>()?.unwrap_or(false);
        let name = address.file_name().unwrap_or_default().to_owned();
        let output = Output::temporary(folder, Path::new(&name))?;
        Ok(Output { address: given, is_published, replace, ..output })
    }

    /// A temporary output in `folder`, which is deleted with the returned value.
    pub(super) fn temporary(folder: &Path, name: &Path) -> PyResult<Self> {
        let scratch = ScratchDirectory::create(folder).map_err(fpstore::Error::Io);
        let scratch = scratch.map_err(Failure::from)?;
        let path = Some(scratch.path().join(name));
        Ok(Output { path, scratch: Some(scratch), ..Output::default() })
    }

    /// Whether the complete output is copied to an address.
    pub(super) fn is_remote(&self) -> bool {
        self.address.is_some()
    }

    /// For an output at an address: the prefix of temporary paths, and its replacement in messages.
    pub(super) fn shown(&self) -> Option<(String, String)> {
        let folder = self.scratch.as_ref()?.path().display().to_string();
        let address = self.address.as_ref()?;
        Some((format!("{folder}/"), format!("{}/", address.parent()?.display())))
    }

    /// Copies a complete output to its address.
    pub(super) fn publish(&self, py: Python<'_>) -> PyResult<()> {
        if let (Some(path), Some(address)) = (&self.path, &self.address) {
            let paths = (path.as_os_str(), address.as_os_str(), self.replace);
            py.import(REMOTE)?.call_method1("publish", paths)?;
        }
        Ok(())
    }
}
