//! Opens the files of traces for reading.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use trimbench_claim::Inode;
use trimbench_core::text::from_text;
use trimbench_trace::{Input, ReadOptions, Reader, TraceError, TraceSource, Traces};

use crate::failure::Failure;

/// Opens trace files by name for whoever replays them, again for each pass: so they must be regular
/// files. What cannot be found by content is for `trace convert` to read first.
#[derive(Debug)]
pub(crate) struct TraceFiles;

impl TraceFiles {
    /// The files that the name of a trace stands for.
    pub(crate) fn paths(name: &str) -> Vec<PathBuf> {
        files_of(Path::new(&from_text(name)))
    }
}

impl Traces for TraceFiles {
    fn open(&self, name: &str) -> Result<Box<dyn TraceSource>, TraceError> {
        let inputs: Result<Vec<Input>, TraceError> = Self::paths(name)
            .into_iter()
            .map(|file| {
                let name = file.display().to_string();
                match regular(&file) {
                    Ok(file) => Ok(Input::file(name, file)),
                    Err(error) => Err(TraceError::Io { name, error }),
                }
            })
            .collect();
        Ok(Box::new(Reader::open(inputs?, &ReadOptions::default())?))
    }
}

/// The trace of these files, and which files these are whatever their names. `-` is standard input,
/// and the name that blktrace was given stands for all that it wrote.
pub fn open_trace(
    files: &[PathBuf],
    options: &ReadOptions,
) -> Result<(Reader, Vec<Inode>), Failure> {
    let mut inputs = Vec::new();
    let mut inodes = Vec::new();
    for file in files.iter().flat_map(|file| files_of(file)) {
        let (input, inode) = input(&file)?;
        inputs.push(input);
        inodes.push(inode);
    }
    Ok((Reader::open(inputs, options)?, inodes))
}

fn input(file: &Path) -> Result<(Input, Inode), Failure> {
    let unread = |error: io::Error| {
        Failure::usage(error).context(format!("cannot read `{}`", file.display()))
    };
    if file == Path::new("-") {
        let stdin = io::stdin();
        let inode = Inode::of(&stdin).map_err(unread)?;
        return Ok((Input::stream("standard input", stdin), inode));
    }
    let name = file.display().to_string();
    let opened = File::open(file).and_then(|file| Ok((file.metadata()?, Inode::of(&file)?, file)));
    let (metadata, inode, file) = opened.map_err(unread)?;
    if metadata.is_dir() {
        let error = anyhow::anyhow!("`{name}` is a directory");
        return Err(Failure::usage(error).with_hint("name the files of the trace"));
    }
    let is_file = metadata.is_file();
    Ok((if is_file { Input::file(name, file) } else { Input::stream(name, file) }, inode))
}

/// A regular file, opened.
fn regular(file: &Path) -> io::Result<File> {
    // Not opened before: a pipe would wait for its writer.
    if !std::fs::metadata(file)?.is_file() {
        let reason = "it is no regular file, and a trace is read once for each pass";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, reason));
    }
    File::open(file)
}

/// The files that a name stands for: itself, or what blktrace writes for it.
fn files_of(name: &Path) -> Vec<PathBuf> {
    let set = if name == Path::new("-") || name.exists() { Vec::new() } else { set(name) };
    if set.is_empty() { vec![name.to_owned()] } else { set }
}

/// The files that blktrace writes for this name, in the order of their processors.
fn set(name: &Path) -> Vec<PathBuf> {
    let folder = match name.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut set: Vec<(u32, PathBuf)> = entries
        .filter_map(|entry| Some((processor(name.file_name()?, &entry.file_name())?, entry.path())))
        .collect();
    set.sort();
    set.into_iter().map(|(_, path)| path).collect()
}

/// The processor of a file of that set.
fn processor(name: &OsStr, file: &OsStr) -> Option<u32> {
    let rest = file.as_bytes().strip_prefix(name.as_bytes())?;
    std::str::from_utf8(rest.strip_prefix(b".blktrace.")?).ok()?.parse().ok()
}
