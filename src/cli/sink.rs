//! The destination of results: standard output, or a file that appears only when it is complete.

use std::io::{self, BufWriter, IsTerminal, StdoutLock, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::Args;
use tempfile::NamedTempFile;

use super::output::stdout;

/// The destination of the results.
#[derive(Args, Debug)]
pub(super) struct OutputArgs {
    /// Write to FILE, which appears when it is complete [default: -, standard output]
    #[arg(short, long, value_name = "FILE")]
    pub(super) output: Option<PathBuf>,
    /// Replace existing files
    #[arg(short, long)]
    pub(super) force: bool,
}

impl OutputArgs {
    pub(super) fn open(&self) -> anyhow::Result<Sink> {
        match &self.output {
            Some(path) if path != Path::new("-") => Sink::file(path, self.force),
            _ => Ok(Sink::Stdout(stdout())),
        }
    }
}

/// The open destination; a file gets its name by [`Sink::finish`].
pub(super) enum Sink {
    Stdout(BufWriter<StdoutLock<'static>>),
    File { file: BufWriter<NamedTempFile>, path: PathBuf, replace: bool },
}

impl Sink {
    /// A file that is written under a temporary name beside `path`.
    pub(super) fn file(path: &Path, replace: bool) -> anyhow::Result<Self> {
        if path.is_dir() {
            bail!("cannot write {}: it is a directory", path.display());
        }
        if !replace && path.exists() {
            bail!("{} exists; --force replaces it once the new one is complete", path.display());
        }
        let folder = match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        let mut builder = tempfile::Builder::new();
        builder.prefix(".fpstore-").suffix(".tmp");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            builder.permissions(std::fs::Permissions::from_mode(0o666));
        }
        let file = builder
            .tempfile_in(folder)
            .map_err(|failed| failed.raw_os_error().map_or(failed, io::Error::from_raw_os_error))
            .with_context(|| format!("cannot create a file in {}", folder.display()))?;
        Ok(Sink::File { file: BufWriter::with_capacity(1 << 16, file), path: path.into(), replace })
    }

    /// The file, if it is one.
    #[cfg(feature = "parquet")]
    pub(super) fn as_file(&self) -> Option<&std::fs::File> {
        match self {
            Sink::Stdout(_) => None,
            Sink::File { file, .. } => Some(file.get_ref().as_file()),
        }
    }

    /// Whether results go to a terminal, so that control characters must be escaped.
    pub(super) fn is_terminal(&self) -> bool {
        matches!(self, Sink::Stdout(_)) && io::stdout().is_terminal()
    }

    /// Writes what is buffered, and gives a file its name.
    pub(super) fn finish(self) -> anyhow::Result<()> {
        match self {
            Sink::Stdout(mut out) => Ok(out.flush()?),
            Sink::File { file, path, replace } => {
                let cannot = || format!("cannot write {}", path.display());
                let file = file.into_inner().map_err(io::IntoInnerError::into_error);
                let file = file.with_context(cannot)?;
                file.as_file().sync_all().with_context(cannot)?;
                let named =
                    if replace { file.persist(&path) } else { file.persist_noclobber(&path) };
                named.map_err(|failed| failed.error).with_context(cannot)?;
                Ok(())
            }
        }
    }
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Sink::Stdout(out) => out.write(bytes),
            Sink::File { file, .. } => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Sink::Stdout(out) => out.flush(),
            Sink::File { file, .. } => file.flush(),
        }
    }
}
