//! The destination of results: standard output, a device, a pipe or a file. A file gets its name
//! only when it is complete, and its extension selects the compression. The program writes all
//! output files through this module.

use std::fs::{self, Metadata};
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::Args;
use fpstore::writer::check_output;
use fpstore_base::source::{Compression, Encoder};
use fpstore_base::waiting::WaitingFile;
use fpstore_corpus::NewFile;

use super::text::{InPlaceOfBar, NamedWriter, Stdout, stdout};

/// Maximum number of symbolic links that are followed from a path, the same as on Linux.
const LINKS_MAX: usize = 40;

/// The options for the destination of the results.
#[derive(Args, Debug)]
pub(crate) struct OutputArgs {
    /// Write to FILE, which appears when complete [default: -, standard output]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Replace existing files
    #[arg(short, long)]
    pub(crate) force: bool,
}

impl OutputArgs {
    pub(crate) fn open(&self) -> anyhow::Result<Sink> {
        match &self.output {
            Some(path) => Sink::open(path, self.force),
            None => Ok(Sink::stdout()),
        }
    }
}

/// An open destination. If it is a file, [`Sink::finish`] gives it its name.
pub(crate) struct Sink {
    out: Encoder<Stdout>,
    /// The number of bytes written so far, before compression.
    len: u64,
    is_stdout: bool,
    is_terminal: bool,
    /// The file and its final name, if the destination is a file.
    file: Option<(NewFile, String)>,
}

impl Sink {
    /// Standard output.
    pub(crate) fn stdout() -> Self {
        Sink::of(stdout(), io::stdout().is_terminal(), true)
    }

    fn of(out: Stdout, is_terminal: bool, is_stdout: bool) -> Self {
        Sink { out: Encoder::Plain(out), len: 0, is_stdout, is_terminal, file: None }
    }

    /// Opens the destination `path`. `-` is standard output; devices and pipes are written
    /// directly. Otherwise a new file is created; with `replace` an existing file is replaced,
    /// after symbolic links are followed. A file whose name ends with `.gz` or `.zst` is
    /// compressed.
    pub(crate) fn open(path: &Path, replace: bool) -> anyhow::Result<Self> {
        let name = path.display().to_string();
        let cannot = || format!("cannot write {name}");
        match name.as_str() {
            "-" => return Ok(Sink::stdout()),
            #[cfg(unix)]
            "/dev/stdout" | "/dev/fd/1" | "/proc/self/fd/1" => return Ok(Sink::stdout()),
            #[cfg(unix)]
            "/dev/stderr" | "/dev/fd/2" | "/proc/self/fd/2" => {
                use std::os::fd::AsFd;
                let file = io::stderr().as_fd().try_clone_to_owned().map(fs::File::from);
                return Sink::device(file.and_then(WaitingFile::of).with_context(cannot)?, name);
            }
            _ => {}
        }
        let found = match fs::metadata(path) {
            Ok(metadata) => Some(metadata),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error).with_context(cannot),
        };
        match &found {
            None => {}
            Some(metadata) if metadata.is_dir() => bail!("cannot write {name}: it is a directory"),
            // The path names an open descriptor, so nothing can be replaced.
            Some(_) if path.starts_with("/dev/fd") || path.starts_with("/proc/self/fd") => {
                return Sink::device(WaitingFile::append(path).with_context(cannot)?, name);
            }
            Some(metadata) if metadata.is_file() && replace => {}
            Some(metadata) if metadata.is_file() => {
                bail!("{name} exists; to replace it once the new one is complete, use --force")
            }
            Some(metadata) if takes_bytes(metadata) => {
                return Sink::device(WaitingFile::append(path).with_context(cannot)?, name);
            }
            Some(_) => bail!("cannot write {name}: it is a socket or a disk; name a file"),
        }
        let cannot_create = || format!("cannot create {name}");
        let compression = Compression::of(path);
        let path = end_of_links(path).with_context(cannot_create)?;
        check_output(&path)?;
        let file = NewFile::create(path, found).with_context(cannot_create)?;
        let to = file.file().and_then(WaitingFile::of).with_context(cannot)?;
        let out = buffered(NamedWriter::new(name.clone(), Box::new(to)));
        let out = Encoder::new(compression, out).with_context(cannot)?;
        Ok(Sink { out, len: 0, is_stdout: false, is_terminal: false, file: Some((file, name)) })
    }

    /// Like [`Sink::open`], but returns `None` without a path.
    pub(crate) fn open_any(path: Option<&Path>, replace: bool) -> anyhow::Result<Option<Self>> {
        path.map(|path| Sink::open(path, replace)).transpose()
    }

    fn device(device: WaitingFile, name: String) -> anyhow::Result<Self> {
        let is_terminal = device.file().is_terminal();
        let to: Box<dyn Write + Send> = match is_terminal {
            true => Box::new(InPlaceOfBar(device)),
            false => Box::new(device),
        };
        Ok(Sink::of(buffered(NamedWriter::new(name, to)), is_terminal, false))
    }

    /// Whether the destination is standard output.
    pub(crate) fn is_stdout(&self) -> bool {
        self.is_stdout
    }

    /// Whether the output is compressed.
    pub(crate) fn is_compressed(&self) -> bool {
        !matches!(self.out, Encoder::Plain(_))
    }

    /// Whether the destination is a terminal. Control characters are then escaped.
    pub(crate) fn is_terminal(&self) -> bool {
        self.is_terminal
    }

    /// The number of bytes written so far.
    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// Writes a complete text and finishes the output.
    pub(crate) fn write_whole(mut self, text: &str) -> anyhow::Result<()> {
        self.write_all(text.as_bytes())?;
        self.finish()
    }

    /// Flushes the buffers and gives the file its name.
    pub(crate) fn finish(self) -> anyhow::Result<()> {
        self.out.finish()?.flush()?;
        match self.file {
            Some((file, name)) => {
                // Checked again, because the path may have become an input since the sink was
                // opened.
                check_output(file.path())?;
                file.publish().with_context(|| format!("cannot write {name}"))
            }
            None => Ok(()),
        }
    }
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let len = self.out.write(bytes)?;
        self.len += len as u64;
        Ok(len)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Parses the path of a page. Rejects a name such as `main` in `--html-part main`.
pub(crate) fn page_path(text: &str) -> Result<PathBuf, String> {
    match text {
        "" => Err("expected the name of a file".into()),
        "auto" | "main" | "full" => Err(format!(
            "--html is the page to write; for the part of HTML pages to read, give --html-part \
             {text}; for a file of this name, ./{text}"
        )),
        _ => Ok(text.into()),
    }
}

/// Opens the file of an HTML page, if one is requested, before any work is done. `other` names what
/// the command writes to standard output: the page cannot be written there, too.
pub(crate) fn open_page(
    path: Option<&Path>,
    force: bool,
    other: &str,
) -> anyhow::Result<Option<Sink>> {
    if path == Some(Path::new("-")) {
        bail!("--html needs the name of a file, because standard output is for {other}");
    }
    Sink::open_any(path, force)
}

fn buffered(out: NamedWriter) -> BufWriter<NamedWriter> {
    BufWriter::with_capacity(1 << 16, out)
}

/// Whether output can be written to this special file: true for terminals, the null device and
/// named pipes, false for sockets and disks.
fn takes_bytes(metadata: &Metadata) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        let kind = metadata.file_type();
        kind.is_char_device() || kind.is_fifo()
    }
    #[cfg(not(unix))]
    {
        let _ = metadata;
        true
    }
}

/// Follows symbolic links from `path`. The final path need not exist.
fn end_of_links(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_path_buf();
    for _ in 0..LINKS_MAX {
        match fs::read_link(&path) {
            Ok(target) => path = path.parent().unwrap_or(Path::new("")).join(target),
            Err(_) => return Ok(path),
        }
    }
    Err(io::Error::other("too many links"))
}
