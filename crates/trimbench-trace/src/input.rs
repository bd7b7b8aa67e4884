//! A file of a trace, as its opener passes it in.

use std::fmt;
use std::io::{Read, Seek};

/// A file of a trace: its name for messages, and its content.
pub struct Input {
    pub(crate) name: String,
    pub(crate) content: Content,
}

/// Something whose place can be chosen: a regular file, or bytes in memory.
pub trait ReadSeek: Read + Seek + Send {}

impl<T: Read + Seek + Send> ReadSeek for T {}

/// What can be done with the content.
pub(crate) enum Content {
    /// It is read once, from its beginning: a pipe.
    Stream(Box<dyn Read + Send>),
    /// It is read at any place.
    File(Box<dyn ReadSeek>),
}

impl Input {
    /// What is read once, from its beginning: a pipe.
    pub fn stream(name: impl Into<String>, content: impl Read + Send + 'static) -> Self {
        Self { name: name.into(), content: Content::Stream(Box::new(content)) }
    }

    /// What is read at any place: a regular file. Our own format needs it.
    pub fn file(name: impl Into<String>, content: impl ReadSeek + 'static) -> Self {
        Self { name: name.into(), content: Content::File(Box::new(content)) }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl fmt::Debug for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seekable = matches!(self.content, Content::File(_));
        f.debug_struct("Input").field("name", &self.name).field("seekable", &seekable).finish()
    }
}
