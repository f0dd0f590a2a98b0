//! A first look at a PDF while it is stored: what can be refused for certain
//! before anybody pays. Everything else (a password, a damaged file) is for
//! Claude to judge; a file locked only against editing opens for everybody.
mod lexer;
mod object;
mod pages;

use pages::PageCounter;
use thiserror::Error;

/// Inspects chunks as they pass by, cut anywhere, in bounded memory.
#[derive(Debug)]
pub struct PdfInspector {
    max_bytes: u64,
    max_pages: u32,
    bytes: u64,
    /// The beginning of the file, up to [`HEADER_WITHIN`] and the mark.
    head: Vec<u8>,
    pages: PageCounter,
}

/// What is known of an accepted file.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct PdfFacts {
    /// Its size.
    pub bytes: u64,
    /// Its pages, if that is certain.
    pub pages: Option<u32>,
}

/// Why a file is refused.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
pub enum PdfRefusal {
    /// Zero bytes.
    #[error("the file is empty")]
    Empty,
    /// Something else saved as `.pdf`.
    #[error("the file is not a PDF: it starts with {starts_with:?}")]
    NotAPdf {
        /// Its first bytes, readable.
        starts_with: String,
    },
    /// It does not fit into a request.
    #[error("the file is larger than {max} bytes")]
    TooLarge {
        /// The most that fits.
        max: u64,
    },
    /// More pages than the model takes.
    #[error("the file has {pages} pages, and the model takes {max}")]
    TooManyPages {
        /// Its pages.
        pages: u32,
        /// The most the model takes.
        max: u32,
    },
}

impl PdfInspector {
    /// An inspector with these limits; see
    /// [`max_pdf_bytes`](super::max_pdf_bytes) and
    /// [`max_pages`](super::max_pages).
    #[must_use]
    pub fn new(max_bytes: u64, max_pages: u32) -> Self {
        Self { max_bytes, max_pages, bytes: 0, head: Vec::new(), pages: PageCounter::default() }
    }

    /// Looks at a chunk.
    ///
    /// # Errors
    ///
    /// A refusal, as soon as it is certain.
    pub fn push(&mut self, chunk: &[u8]) -> Result<(), PdfRefusal> {
        self.bytes += chunk.len() as u64;
        if self.bytes > self.max_bytes {
            return Err(PdfRefusal::TooLarge { max: self.max_bytes });
        }
        let missing = HEAD - self.head.len();
        self.head.extend(chunk.iter().take(missing));
        if self.head.len() == HEAD {
            self.check_mark()?;
        }
        self.pages.push(chunk);
        Ok(())
    }

    /// The facts, now that the file has ended.
    ///
    /// # Errors
    ///
    /// The reason why it is refused.
    pub fn finish(self) -> Result<PdfFacts, PdfRefusal> {
        if self.bytes == 0 {
            return Err(PdfRefusal::Empty);
        }
        self.check_mark()?;
        let pages = self.pages.finish();
        match pages.filter(|pages| *pages > self.max_pages) {
            Some(pages) => Err(PdfRefusal::TooManyPages { pages, max: self.max_pages }),
            None => Ok(PdfFacts { bytes: self.bytes, pages }),
        }
    }

    /// Readers look for the mark within the first 1,024 bytes (PDF Reference
    /// 1.7, appendix H.3, note 13), and so do we: junk may stand before it.
    fn check_mark(&self) -> Result<(), PdfRefusal> {
        if self.head.windows(MARK.len()).any(|part| part == MARK) {
            return Ok(());
        }
        let start = String::from_utf8_lossy(self.head.get(..SHOWN).unwrap_or(&self.head));
        Err(PdfRefusal::NotAPdf {
            starts_with: start.replace(|c: char| c.is_control() || c == '\u{fffd}', "."),
        })
    }
}

const MARK: &[u8] = b"%PDF-";
const HEADER_WITHIN: usize = 1_024;
const HEAD: usize = HEADER_WITHIN + MARK.len() - 1;
/// How much of a strange file an error shows, in bytes.
const SHOWN: usize = 24;
